"""What a frontend may look at beside sessions: skills, and what they hold."""

from planck.context import skills
from planck.context.skills import Skill

__all__ = ["Skill", "skill_text"]


def skill_text(skill: Skill, resource: str = "") -> str:
    """The text that `load_skill` gives to a model."""
    return skills.resource(skill, resource) if resource else skills.body(skill)
