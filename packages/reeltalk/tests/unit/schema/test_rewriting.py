"""The rewriting catalogue: SVBench's 31 methods by relation and case, and those of our own beside them."""

from collections import Counter

from reeltalk.schema.labels import Relation, Skill
from reeltalk.schema.rewriting import catalogue, published_methods

# arXiv 2502.10810, appendix C.
PUBLISHED = {
    ("Actions", "same"): 7,
    ("Actions", "different"): 1,
    ("Quantity", None): 2,
    ("People", "different"): 3,
    ("People", "same"): 2,
    ("Objects", "same"): 9,
    ("Events", "same"): 5,
    ("Environment", "same"): 2,
}
DEEPER = {
    "Actions/sequence", "Actions/comparison", "Quantity/trend", "People/relationship", "People/position",
    "People/emotion", "Objects/inference", "Events/cause", "Events/prediction", "Environment/change",
}  # fmt: skip


def test_the_paper_has_31_methods_by_relation_and_case() -> None:
    assert Counter((method.relation, method.case) for method in published_methods().values()) == PUBLISHED
    assert sum(PUBLISHED.values()) == 31
    assert {name for name, method in published_methods().items() if method.deeper} == DEEPER


def test_ours_are_marked_and_ask_what_the_paper_does_not() -> None:
    ours = {name for name, method in catalogue().items() if method.ours}
    assert ours
    assert ours | set(published_methods()) == set(catalogue())
    asks = Counter((method.relation, method.case, method.ask) for method in catalogue().values())
    assert max(asks.values()) == 1


def test_each_method_has_one_of_the_nine_skills() -> None:
    assert {method.skill for method in published_methods().values()} == {str(skill) for skill in Skill}
    assert {method.relation for method in published_methods().values()} == {str(relation) for relation in Relation}
    # Contrary to fact is one skill, whatever the fact is.
    assert {method.skill for name, method in catalogue().items() if "counterfactual" in name} == {"CR"}
