"""
The webhook for Bindings, which ranks pods: what of its registration is wrong.

Entry point: ``list_binding_faults``. It is the second webhook of the mutating configuration, and
registered only where a profile has ``scaleDown: KeepSpread``. No I/O.
"""

from collections.abc import Iterator

from webhook.doctor.objects import Webhook, WebhookRule

BIND_WEBHOOK = "bind.evenspread.io"

_RULES = (WebhookRule(("",), ("pods/binding",), ("CREATE",), "Namespaced"),)


def list_binding_faults(webhook: Webhook, *, name: str, namespace: str) -> Iterator[str]:
    """
    Describe what differs from every installation, as the rest of a sentence about the webhook.

    Args:
        name: Name of the installation; ``namespace`` is that of its Service.
    """
    service = webhook.client_config.service
    called = f"{service.namespace}/{service.name}{service.path}" if service else "a URL"
    if called != (expected := f"{namespace}/{name}/bind"):
        yield f"calls {called}, not {expected}"
    if webhook.rules != _RULES:
        yield "is called for something other than CREATE pods/binding in namespaces"
    if webhook.failure_policy != "Ignore":
        yield (
            f"has failurePolicy: {webhook.failure_policy}, not Ignore: no pod can be bound while "
            "no replica answers"
        )
    if webhook.side_effects != "None":
        yield f"has sideEffects: {webhook.side_effects}, not None: otherwise dry runs fail"
