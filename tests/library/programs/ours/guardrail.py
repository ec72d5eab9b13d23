"""A prompt that is refused before a model sees it."""

import planck
from planck import Hooks, PlanckError, Refuse


class NoSecrets(Hooks):
    def before_prompt(self, text: str) -> Refuse | None:
        return Refuse("Do not send passwords.") if "password" in text else None


for prompt in ["Say hello.", "My password is tiger."]:
    try:
        print(planck.run(prompt, model="openai/gpt-5", hooks=[NoSecrets()]).text)
    except PlanckError:
        print("refused")
