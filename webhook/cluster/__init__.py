"""What is known of a cluster: objects indexed for the questions that policy asks."""
