"""Places a call with the client that openapi-python-client makes of the document, and reads it back once it has ended.
Takes the address of a server whose simulated engine plays calls, and an API key."""

import sys
import time

from switchboard_client import AuthenticatedClient
from switchboard_client.api.account_and_keys import me
from switchboard_client.api.assistants import create_assistant, list_languages, list_models, list_voices
from switchboard_client.api.calls import get_call, list_call_events, make_call
from switchboard_client.models import Call, Me, NewAssistant, NewAssistantMode, NewAssistantType, NewCall
from switchboard_client.models import PlacedCall, SummaryWithMessage

PATIENCE_SECONDS = 120


def main(url, key):
    client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)
    caller = wanted(Me, me.sync(client=client))
    assistant = wanted(SummaryWithMessage, create_assistant.sync(client=client, body=new_assistant(client))).data
    body = NewCall(phone_number="+12125550101", assistant_id=assistant.id)
    placed = wanted(PlacedCall, make_call.sync(client=client, body=body))
    call = ended(client, placed.call_id)
    assert call.assistant_name == "Anna" and call.transcript, call
    kinds = [event.type_ for event in list_call_events.sync(call.id, client=client).data]
    assert kinds[0] == "initiated" and "answered" in kinds, kinds
    print(f"{caller.email}: call {call.id} {call.status} after {len(kinds)} events, {call.duration} s")


def new_assistant(client):
    """An assistant of the first language, voice and model in the catalogue."""
    voice = list_voices.sync(client=client)[0]
    return NewAssistant(
        name="Anna",
        type_=NewAssistantType.OUTBOUND,
        mode=NewAssistantMode.PIPELINE,
        voice_id=voice.id,
        language_id=list_languages.sync(client=client)[0].id,
        llm_model_id=list_models.sync(client=client)[0].id,
        timezone="America/Chicago",
        initial_message="Hello, this is Anna.",
        system_prompt="Be short and kind.",
    )


def ended(client, call_id):
    """Waits until a call has ended, and returns it."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        call = wanted(Call, get_call.sync(call_id, client=client))
        if call.ended_reason is not None:
            return call
        assert time.monotonic() < until, f"the call is still {call.status}"
        time.sleep(0.2)


def wanted(kind, answer):
    """Checks that an answer is of the type that the document promises."""
    assert isinstance(answer, kind), f"not a {kind.__name__}: {answer}"
    return answer


main(*sys.argv[1:])
