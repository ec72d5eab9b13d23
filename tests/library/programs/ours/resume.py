"""A conversation that goes on in another process, with what was said before."""

import sys

import planck

if sys.argv[1] == "begin":
    result = planck.run("My name is Ada.", model="openai/gpt-5", name="ada")
else:
    result = planck.run("What is my name?", resume="ada")
print(result.text)
