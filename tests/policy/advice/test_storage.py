import pytest

from webhook.policy.advice.storage import StorageClass, find_default_class


def storage_class(name: str, created: str = "", is_default: bool = True) -> StorageClass:
    return StorageClass(name=name, created=created, is_default=is_default)


DEFAULTS: dict[str, tuple[list[StorageClass], str]] = {
    "one of two": ([storage_class("slow", is_default=False), storage_class("fast")], "fast"),
    "the newest": (
        [
            storage_class("old", "2025-01-01T00:00:00Z"),
            storage_class("new", "2026-01-01T00:00:00Z"),
        ],
        "new",
    ),
    "the first by name of those that are as old": (
        [storage_class("b", "2025-01-01T00:00:00Z"), storage_class("a", "2025-01-01T00:00:00Z")],
        "a",
    ),
    "none": ([storage_class("slow", is_default=False)], ""),
}


@pytest.mark.parametrize(("classes", "name"), DEFAULTS.values(), ids=DEFAULTS.keys())
def test_the_default_class(classes: list[StorageClass], name: str) -> None:
    found = find_default_class(classes)

    assert (found.name if found else "") == name


def test_a_class_is_in_no_namespace() -> None:
    assert StorageClass(name="fast").namespace == ""


@pytest.mark.parametrize(
    ("provisioner", "is_shared"),
    [
        ("efs.csi.aws.com", True),
        ("rook-ceph.rbd.csi.ceph.com", True),
        ("nfs.csi.k8s.io", True),
        ("file.csi.azure.com", True),
        ("ebs.csi.aws.com", False),
        ("disk.csi.azure.com", False),
        ("pd.csi.storage.gke.io", False),
        ("kubernetes.io/no-provisioner", False),
        ("", False),
    ],
)
def test_volumes_of_shared_storage_belong_to_no_zone(provisioner: str, is_shared: bool) -> None:
    assert StorageClass(name="a", provisioner=provisioner).is_shared is is_shared
