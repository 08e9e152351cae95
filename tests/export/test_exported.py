from webhook.export.exported import Export, Omission


def test_an_omission_names_its_subject() -> None:
    assert str(Omission("profile 'web'", "has no policy")) == "profile 'web': has no policy"


def test_an_export_may_be_empty() -> None:
    assert Export() == Export((), ())
