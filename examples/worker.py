#!/usr/bin/env python3
"""A worker for Holdpoint: claims work, runs a command for it, and reports what became of it.

    examples/worker.py --server http://127.0.0.1:7070 --token-file worker.key \\
        --tool ship_parcel -- ./ship.sh

The key needs the scope `work:ship_parcel` (or `work:*`). For each piece of work the command gets the
arguments as JSON on its standard input, and in its environment

    HOLDPOINT_IDEMPOTENCY_KEY   the same for every attempt: send it to whatever you call
    HOLDPOINT_ACTION, HOLDPOINT_ATTEMPT, HOLDPOINT_EPOCH, HOLDPOINT_TOOL

and its exit code says how it ended:

    0      it took effect; what it printed (JSON, or text) is the result
    65     it is certain that nothing happened, and nothing will; what it printed is the reason
    other  nobody knows: the source of truth is asked, or a person. Never done again blindly.

A result that the server cannot take (a number that would lose its value, more than it reads) is reported
as text, shortened if it must be: what was done is never left unsaid because of what it printed.

Only the standard library is used, so that the loop can be read and taken over whole. SIGTERM and
SIGINT finish what is being done and then end; a second one ends at once.
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

CERTAIN_NO = 65
REASON_CHARS_MAX = 2000
# The server reads 1 MiB; what is longer goes as text, so much of it.
RESULT_BYTES_MAX = 1_000_000
RESULT_CHARS_MAX = 10_000
# It cannot read the report; the same work in other words may count.
UNREADABLE = (400, 413, 422)
ANSWER_SECONDS = 30
REST_SECONDS_MAX = 30
# No connection, no answer in time, half an answer, or none that can be read.
NO_ANSWER = (OSError, ValueError, http.client.HTTPException)


class Refused(Exception):
    """The server says no, and would say so again."""

    def __init__(self, status, problem):
        self.status = status
        self.code = problem.get("code", "")
        detail = problem.get("detail") or problem.get("title") or f"HTTP status {status}"
        super().__init__(f"{detail} (code {self.code or 'none'}, HTTP status {status})")


class Later(Exception):
    """It did not work now; the same request may work later."""

    def __init__(self, words, after=None):
        self.after = after
        super().__init__(words)


class Server:
    """The three calls that a worker makes."""

    def __init__(self, url, key):
        self.url = url.rstrip("/")
        self.key = key

    def post(self, path, body, seconds=ANSWER_SECONDS, key=None):
        """Answers the JSON of a success, or None where there is none (204)."""
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
        }
        if key is not None:
            headers["Idempotency-Key"] = f'"{key}"'
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers=headers,
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                text = answer.read()
                return None if answer.status == 204 else json.loads(text)
        except urllib.error.HTTPError as error:
            problem = problem_of(error)
            if problem.get("retryable") or error.code >= 502:
                after = error.headers.get("Retry-After", "")
                raise Later(str(error), int(after) if after.isdigit() else None) from error
            raise Refused(error.code, problem) from error
        except NO_ANSWER as error:
            raise Later(str(error) or repr(error)) from error

    def claim(self, tools, wait, lease, key):
        """The same claim with the same key is answered with the same work while its lease runs."""
        body = {"tools": tools, "wait": f"{wait}s", "lease_seconds": lease}
        return self.post("/v1/work/claim", body, wait + ANSWER_SECONDS, key)

    def heartbeat(self, work, lease):
        body = {"epoch": work["epoch"], "lease_seconds": lease}
        # One that hangs must leave time for another one.
        return self.post(f"/v1/work/{work['attempt']}/heartbeat", body, lease / 4)

    def complete(self, work, report, lease):
        body = {"epoch": work["epoch"], **report}
        seconds = min(lease / 3, ANSWER_SECONDS)
        return self.post(f"/v1/work/{work['attempt']}/complete", body, seconds)


def problem_of(error):
    """What a refusal says; the same request is made again where half of it was lost."""
    try:
        text = error.read()
    except NO_ANSWER as lost:
        raise Later(str(lost) or repr(lost)) from lost
    try:
        problem = json.loads(text)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


class Heart(threading.Thread):
    """Keeps the lease of one piece of work, three times as often as it would end, and sooner again
    where that was not heard."""

    def __init__(self, server, work, lease):
        super().__init__(daemon=True)
        self.server, self.work, self.lease = server, work, lease
        self.done = threading.Event()

    def run(self):
        rest = self.lease / 3
        while not self.done.wait(rest):
            try:
                self.server.heartbeat(self.work, self.lease)
                rest = self.lease / 3
            except Refused as error:
                # What is said from here on does not count. What runs is not broken off: nobody knows
                # how far it is, and half of it may be worse than all of it.
                return self.tell(f"the lease is lost: {error}")
            except Exception as error:  # Whatever it was: without this thread the lease would end.
                self.tell(f"no heartbeat: {error}")
                rest = self.lease / 12

    def tell(self, words):
        # Nobody needs to know once the work is done.
        if not self.done.is_set():
            say(f"{self.work['attempt']}: {words}")

    def stop(self):
        """Not waited for: what is on its way may hang, and the report must not."""
        self.done.set()


def say(words):
    print(words, file=sys.stderr, flush=True)


def rest(tried, error):
    """Waits longer each time, and not exactly as long as everybody else."""
    seconds = error.after or min(0.5 * 2 ** min(tried, 10), REST_SECONDS_MAX)
    time.sleep(min(seconds, REST_SECONDS_MAX) * random.uniform(0.5, 1))


def carry_out(command, work):
    """Runs the command; answers what to report."""
    environment = {
        **os.environ,
        "HOLDPOINT_IDEMPOTENCY_KEY": work["idempotency_key"],
        "HOLDPOINT_ACTION": work["action"],
        "HOLDPOINT_ATTEMPT": work["attempt"],
        "HOLDPOINT_EPOCH": str(work["epoch"]),
        "HOLDPOINT_TOOL": work["tool"],
    }
    try:
        ran = subprocess.run(
            command,
            input=json.dumps(work["args"]).encode(),
            stdout=subprocess.PIPE,
            env=environment,
            # A signal to this worker is not one to the work: what was begun is finished.
            start_new_session=True,
            check=False,
        )
    except OSError as error:
        # It was never started, so that it certainly did nothing.
        return {"outcome": "failed", "reason": f"the command cannot be run: {error}"}
    said = ran.stdout.decode(errors="replace").strip()
    if ran.returncode == 0:
        try:
            return {"outcome": "succeeded", "result": json.loads(said) if said else None}
        except ValueError:
            return {"outcome": "succeeded", "result": said}
    if ran.returncode == CERTAIN_NO:
        reason = said or "the command said no"
        return {"outcome": "failed", "reason": reason[:REASON_CHARS_MAX]}
    reason = f"the command ended with {ran.returncode}: {said}"
    return {"outcome": "unknown", "reason": reason[:REASON_CHARS_MAX]}


def as_text(outcome):
    """The same success, with its result as text: what was printed, or the beginning of it."""
    text = json.dumps(outcome["result"])
    if RESULT_CHARS_MAX < len(text):
        text = f"{text[:RESULT_CHARS_MAX]}… (the first {RESULT_CHARS_MAX} of {len(text)} characters)"
    return {"outcome": "succeeded", "result": text}


def in_other_words(outcome):
    """What to report where the server cannot read the report, one after the other."""
    if outcome["outcome"] == "succeeded":
        yield as_text(outcome)
    if outcome["outcome"] != "unknown":
        reason = f"the server could not read the report that it {outcome['outcome']}"
        yield {"outcome": "unknown", "reason": reason}


def report(server, work, outcome, lease):
    """Reports until it is heard. The same report twice is answered as once."""
    if outcome["outcome"] == "succeeded" and RESULT_BYTES_MAX < len(json.dumps(outcome["result"])):
        outcome = as_text(outcome)
    others = in_other_words(outcome)
    end, tried = time.monotonic() + lease, 0
    while True:
        try:
            done = server.complete(work, outcome, lease)
            return say(f"{work['attempt']}: {outcome['outcome']}; the action is {done['status']}")
        except Refused as error:
            other = next(others, None) if error.status in UNREADABLE else None
            if other is None:
                return say(f"{work['attempt']}: the report does not count: {error}")
            say(f"{work['attempt']}: the report was not taken as it was: {error}")
            outcome = other
        except Later as error:
            tried += 1
            if end < time.monotonic():
                return say(f"{work['attempt']}: the report was not heard: {error}")
            rest(tried, error)


def work_on(server, command, work, lease):
    say(f"{work['attempt']}: {work['summary']}")
    heart = Heart(server, work, lease)
    heart.start()
    try:
        outcome = carry_out(command, work)
    except Exception as error:  # Whatever broke, it may have happened.
        outcome = {"outcome": "unknown", "reason": f"the worker failed: {error!r}"[:REASON_CHARS_MAX]}
    finally:
        heart.stop()
    report(server, work, outcome, lease)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--server", default="http://127.0.0.1:7070", metavar="URL")
    options.add_argument("--token-file", required=True, metavar="FILE", help="the key of a service")
    options.add_argument("--tool", action="append", required=True, help="may be given several times")
    options.add_argument("--lease", type=int, default=30, metavar="SECONDS", help="5 to 3600")
    options.add_argument("--wait", type=int, default=20, metavar="SECONDS", help="0 to 60")
    options.add_argument("command", nargs="+", help="what to run for each piece of work, after --")
    given = options.parse_args()
    with open(given.token_file, encoding="ascii") as file:
        server = Server(given.server, file.read().strip())

    stop = threading.Event()

    def asked_to_stop(number, _frame):
        if stop.is_set():
            sys.exit(128 + number)
        say("finishing what is being done")
        stop.set()

    signal.signal(signal.SIGTERM, asked_to_stop)
    signal.signal(signal.SIGINT, asked_to_stop)
    tried, key = 0, uuid.uuid4()
    while not stop.is_set():
        try:
            # Not broken off by a signal: what was just given out would be lost until its lease ends.
            work = server.claim(given.tool, given.wait, given.lease, key)
            # Answered. A key is used again only where nobody knows what the claim came to: what was
            # begun must not be given to this worker as if it were new.
            tried, key = 0, uuid.uuid4()
        except Later as error:
            say(f"no work now: {error}")
            tried += 1
            rest(tried, error)
            continue
        except Refused as error:
            say(f"no work: {error}")
            return 1
        if work is not None:
            work_on(server, given.command, work, given.lease)
    return 0


if __name__ == "__main__":
    sys.exit(main())
