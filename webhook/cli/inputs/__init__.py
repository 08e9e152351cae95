"""What a command is about: the manifests, the cluster, the settings that its options name."""
