"""How a program asks and tells: lines to copy, with the study's own name and contexts."""

import json
from typing import Any
from urllib.parse import quote

from policysieve.study import Study

__all__ = ["snippets_of"]

_WIDEST = 8  # features that are written out


def snippets_of(study: Study, base: str, *, token: bool) -> dict[str, str]:
    """Lines for curl, Python and JavaScript.

    Parameters
    ----------
    study : Study
    base : str
        Address of the service.
    token : bool
        Whether a token is needed.
    """
    context, m = _context(study.policies), study.problem.slate_size
    reward: Any = 1.0 if m == 1 else [1.0] + [0.0] * (m - 1)
    path = f"{base}/v1/studies/{quote(study.name, safe='')}"
    asked = _json({"contexts": [context]})
    told = '{"ids": ["ID"], "rewards": %s}' % _json([reward])  # noqa: UP031  # braces are JSON's
    header = ' -H "Authorization: Bearer $POLICYSIEVE_TOKEN"' if token else ""
    curl = "\n".join(
        f"curl{header} -H 'Content-Type: application/json' \\\n"
        f"  -d {_shell(body)} {_shell(f'{path}/{verb}')}"
        for verb, body in (("ask", asked), ("tell", told))
    )
    secret = ', token=os.environ["POLICYSIEVE_TOKEN"]' if token else ""
    imports = "import os\n\nimport policysieve as ps" if token else "import policysieve as ps"
    python = (
        f"{imports}\n\n"
        f"client = ps.Client({base!r}{secret})\n"
        f"study = client.study({study.name!r})\n"
        f"decisions = study.ask([{context!r}])\n"
        f"print(decisions.actions)  # show these\n"
        f"study.tell(decisions.ids, [{reward!r}])  # when the reward is known"
    )
    auth = " Authorization: `Bearer ${token}`," if token else ""
    javascript = (
        f"const post = async (verb, body) => {{\n"
        f"  const response = await fetch(`{_template(path)}/${{verb}}`, {{\n"
        f'    method: "POST",\n'
        f'    headers: {{{auth} "Content-Type": "application/json" }},\n'
        f"    body: JSON.stringify(body),\n"
        f"  }});\n"
        f"  if (!response.ok) throw new Error(await response.text());\n"
        f"  return response.json();\n"
        f"}};\n"
        f'const {{ decisions }} = await post("ask", {asked});\n'
        f"console.log(decisions[0].actions); // show these\n"
        f'await post("tell", {{ ids: [decisions[0].id], rewards: {_json([reward])} }});'
    )
    return {"curl": curl, "Python": python, "JavaScript": javascript}


def _context(policies: Any) -> Any:
    """A context of the kind that policies take, made up."""
    if policies.looked_up:
        return 0
    features = getattr(policies, "n_features", None)
    return [0.5, -1.0, 0.25, 0.0, 1.0, -0.5, 0.75, 2.0][: features or 3] + [0.0] * max(
        0, (features or 0) - _WIDEST
    )


def _template(text: str) -> str:
    """A text between backquotes."""
    return text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")


def _json(value: Any) -> str:
    """JSON that can stand in a script as it is."""
    return json.dumps(value).replace("<", "\\u003c")


def _shell(text: str) -> str:
    """A text in quotes that no shell looks into."""
    return "'" + text.replace("'", "'\\''") + "'"
