from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import Outcome
from planck.workspace.process import Completed


def command_outcome(done: Completed, call_id: str, timeout_ms: int, advice: str = "") -> Outcome:
    """What a command that ran is to a model: nonzero is no error, running out of time is one."""
    output = done.output
    if done.spilled is not None:
        output = f"{output.rstrip()}\n[the whole output: read path output:{call_id}]"
    if done.timed_out or done.exit_code is None:
        return Err(
            ErrorKind.TIMEOUT,
            f"the command did not finish within {timeout_ms} ms and was killed with everything it started; "
            f"give a larger timeout{advice and ', ' + advice}",
            {"timeout_ms": timeout_ms, "output": output, "containment": str(done.containment)},
        )
    code = done.exit_code
    if code != 0:
        output = f"{output.rstrip()}\n[exit code {code}]" if output.strip() else f"[exit code {code}]"
    return Ok({"output": output, "exit_code": code, "ok": code == 0, "containment": str(done.containment)})
