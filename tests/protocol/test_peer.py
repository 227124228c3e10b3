"""Whatever comes in whatever order, each request is answered once or cancelled, and nothing is remembered for ever."""

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from contexthall.protocol.messages import Request, Response, RpcError
from contexthall.protocol.peer import Peer

IDS = st.sampled_from([1, 2, 7, "1", "7", "", 10**30])
ODD = st.one_of(IDS, st.none(), st.booleans(), st.floats(), st.just([]), st.just({}))


class Conversation(RuleBasedStateMachine):
    """Two sides that ask, answer, cancel and report in any order."""

    tickets = Bundle("tickets")
    asked = Bundle("asked")

    @initialize()
    def begin(self) -> None:
        self.peer = Peer()
        self.theirs: dict[int, Request] = {}
        self.ours: set[int] = set()
        self.all_ours: set[int] = set()

    @rule(target=tickets, request_id=IDS, token=ODD)
    def they_ask(self, request_id: Any, token: Any) -> int:
        request = Request(request_id, "tools/call", {"_meta": {"progressToken": token}})
        ticket = self.peer.begin(request)
        assert ticket not in self.theirs
        self.theirs[ticket] = request
        return ticket

    @rule(ticket=tickets, is_error=st.booleans())
    def we_answer(self, ticket: int, is_error: bool) -> None:
        """A ticket may be used twice: it answers once."""
        line = self.peer.answer(ticket, RpcError(-1, "no") if is_error else b"{}")
        request = self.theirs.pop(ticket, None)
        assert bool(line) == (request is not None)
        if request is not None:
            answer = json.loads(line)
            assert answer["id"] == request.id
            assert type(answer["id"]) is type(request.id)
            assert ("error" in answer) == is_error

    @rule(request_id=ODD | st.sampled_from([1.0, 7.0]))
    def they_cancel(self, request_id: Any) -> None:
        def is_meant(request: Request) -> bool:
            return (type(request.id), request.id) == (type(request_id), request_id)

        expected = [ticket for ticket, request in self.theirs.items() if is_meant(request)]
        assert list(self.peer.cancel(request_id)) == expected
        for ticket in expected:
            del self.theirs[ticket]

    @rule(ticket=tickets)
    def we_report(self, ticket: int) -> None:
        line = self.peer.report(ticket, 1, None, None)
        token = self.theirs[ticket].params["_meta"]["progressToken"] if ticket in self.theirs else None
        is_wanted = isinstance(token, str | int) and not isinstance(token, bool)
        assert bool(line) == is_wanted
        if line:
            assert json.loads(line)["params"] == {"progressToken": token, "progress": 1}

    @rule(target=asked, wants_progress=st.booleans())
    def we_ask(self, wants_progress: bool) -> int:
        request_id, line = self.peer.ask("tools/list", {}, wants_progress=wants_progress)
        assert request_id not in self.all_ours
        assert json.loads(line)["id"] == request_id
        self.ours.add(request_id)
        self.all_ours.add(request_id)
        return request_id

    @rule(request_id=asked | IDS)
    def they_answer(self, request_id: Any) -> None:
        """Perhaps twice, or what nobody asked; "7" is no answer to 7."""
        is_ours = not isinstance(request_id, str) and request_id in self.ours
        assert self.peer.settle(Response(request_id, b"{}")) == is_ours
        self.ours.discard(request_id)

    @rule(request_id=consumes(asked))
    def we_give_up(self, request_id: int) -> None:
        line = self.peer.abandon(request_id, "late")
        assert bool(line) == (request_id in self.ours)
        self.ours.discard(request_id)

    @rule(token=asked | ODD, progress=ODD, total=ODD)
    def they_report(self, token: Any, progress: Any, total: Any) -> None:
        told = self.peer.progressed({"progressToken": token, "progress": progress, "total": total})
        if told is not None:
            assert told.request_id in self.ours
            assert abs(told.progress) < float("inf")

    @invariant()
    def what_is_open_is_remembered_and_nothing_else(self) -> None:
        assert set(self.peer.incoming) == set(self.theirs)
        assert len(self.peer.outgoing) == len(self.ours)


test_a_conversation_of_any_order = Conversation.TestCase
