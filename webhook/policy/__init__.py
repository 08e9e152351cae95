"""The pure core: what a pod's topology spread constraints should be, and why they may not be."""
