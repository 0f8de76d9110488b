"""Secrets and signatures."""

import base64

from resolvers.webhooks.signatures import headers, new_secret, signature

# The example of the Standard Webhooks specification's reference libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIMESTAMP = 1_614_265_330
BODY = b'{"test": 2432232314}'
EXPECTED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_signature_is_that_of_the_specification():
    assert signature(SECRET, MESSAGE_ID, TIMESTAMP, BODY) == EXPECTED


def test_the_headers_are_those_of_the_specification():
    assert headers([SECRET], MESSAGE_ID, TIMESTAMP, BODY) == {
        "Content-Type": "application/json",
        "User-Agent": "Heartwood-Webhooks",
        "webhook-id": MESSAGE_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": EXPECTED,
    }


def test_two_secrets_make_two_signatures():
    other = new_secret()

    signed = headers([other, SECRET], MESSAGE_ID, TIMESTAMP, BODY)["webhook-signature"]

    assert signed == f"{signature(other, MESSAGE_ID, TIMESTAMP, BODY)} {EXPECTED}"


def test_a_secret_has_256_random_bits():
    secrets = {new_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert {len(base64.b64decode(secret.removeprefix("whsec_"))) for secret in secrets} == {32}
