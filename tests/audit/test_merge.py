from tests.audit import world
from webhook.audit.merge import as_context, list_namespaces, merge_snapshots
from webhook.audit.snapshot import Snapshot

NAMELESS = "---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: web-}\n"
SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: %s\n"


def snapshot(text: str) -> Snapshot:
    return world.gather(text).snapshot


def sizes(found: Snapshot) -> dict[str, int]:
    return {
        name: len(items)
        for name in found.__struct_fields__
        if isinstance(items := getattr(found, name), list) and items
    }


def test_namespaces_of_known_references_are_united() -> None:
    parts = [Snapshot(reference_namespaces=names) for names in (["shop"], ["shop", "ops"])]

    assert merge_snapshots(parts).reference_namespaces == ["shop", "ops"]


def test_an_object_in_two_snapshots_is_taken_from_the_first() -> None:
    own = snapshot(world.DEPLOYMENT.replace("replicas: 4", "replicas: 7"))

    merged = merge_snapshots([own, snapshot(world.LIVE)])

    assert sizes(merged) == sizes(snapshot(world.LIVE))
    assert [item.subject.replicas for item in merged.workloads] == [7, 4, 3]


def test_the_same_snapshot_twice_is_that_snapshot() -> None:
    whole = snapshot(world.EVERYTHING + SERVICE % "{selector: {app: web}}")

    assert merge_snapshots([whole, whole]) == whole
    assert merge_snapshots([whole]) is whole


def test_objects_of_one_source_and_without_a_name_are_kept() -> None:
    own = snapshot(world.DEPLOYMENT + world.DEPLOYMENT + NAMELESS)

    merged = merge_snapshots([own, own])

    assert [str(item.subject) for item in merged.workloads].count("Deployment/web") == 2
    assert len(merged.pods) == 2


def test_the_context_is_not_audited_and_its_pods_only_count() -> None:
    context = as_context(snapshot(world.EVERYTHING))

    assert not any(item.requested for item in context.workloads)
    assert (len(context.pods), len(context.neighbours)) == (0, 5)


def test_namespaces_are_those_of_all_objects() -> None:
    lonely = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: empty}\n"
    service = SERVICE.replace(": shop", ": net") % "{selector: {}}"

    found = list_namespaces([snapshot(world.EVERYTHING + lonely), snapshot(service)])

    assert found == {"shop", "ops", "empty", "net"}
