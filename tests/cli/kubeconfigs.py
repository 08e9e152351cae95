"""A kubeconfig whose user runs a credential plugin."""

KUBECONFIG = """\
current-context: a
contexts:
- {name: a, context: {cluster: a, user: a, namespace: shop}}
- {name: b, context: {cluster: a, user: a}}
clusters:
- {name: a, cluster: {server: "http://127.0.0.1:1"}}
users:
- name: a
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: sh
      args: [-c, "%s"]
      interactiveMode: Never
"""
"""With the shell command of the plugin; no API server listens at its address."""
