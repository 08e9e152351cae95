"""The pure core: validates, completes and explains topology spread constraints, without I/O."""
