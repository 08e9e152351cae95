"""Objects of the API as the values that kube-scheduler's filters look at."""
