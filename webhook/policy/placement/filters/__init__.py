"""The default filters of kube-scheduler."""
