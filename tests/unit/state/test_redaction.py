"""What is a secret, what is none, and that looking for them costs no more than the text is long.

The secrets here are made up; most are put together from parts so that no scanner takes them for
real ones.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state.policy.preview import PREVIEW_CHARS_MAX, preview_of
from state.policy.redaction import MARK, Scan, contains_secret, redact, redact_json

pytestmark = pytest.mark.requirement("FR-F18")

ALNUM = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
PEM_BODY = "MIIEpAIBAAKCAQEA7bq+Zz/9\nabcdABCD0123==\n"

# name -> (text, the part that must go)
SECRETS = {
    "openai, old": (f"key sk-{ALNUM} used", f"sk-{ALNUM}"),
    "openai, project": ("My key is sk-proj-FAKE-KEY-FOR-TESTS and", "sk-proj-FAKE-KEY-FOR-TESTS"),
    "anthropic": (f"sk-ant-api03-{ALNUM}-AA", f"sk-ant-api03-{ALNUM}-AA"),
    "github, classic": (f"ghp_{ALNUM}", f"ghp_{ALNUM}"),
    "github, fine-grained": (f"github_pat_11{ALNUM}_{ALNUM}", f"_{ALNUM}"),
    "aws key id": ("id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE"),
    "aws secret, named": (f"aws_secret_access_key = {ALNUM}/bPx+", f"{ALNUM}/bPx+"),
    "aws secret, prose": (f"the AWS secret key {ALNUM}/bPx", f"{ALNUM}/bPx"),
    "jwt": (f"cookie {JWT};", JWT),
    "slack": (f"xoxb-123456789012-{ALNUM}", ALNUM),
    "google": (f"AIzaSy{ALNUM}", ALNUM),
    "stripe": (f"sk_live_{ALNUM}", ALNUM),
    "gitlab": ("glpat-abcdefghij1234567890", "abcdefghij1234567890"),
    "npm": (f"//registry/:_authToken npm_{ALNUM}", ALNUM),
    "hugging face": (f"hf_{ALNUM}", ALNUM),
    "database url": ("postgres://app:s3cr3tpw@db.example.com:5432/app", "s3cr3tpw"),
    "redis url": ("redis://:hunter22@localhost:6379", "hunter22"),
    "bearer": ("Authorization: Bearer abcdefghijklmnop.qrst", "abcdefghijklmnop.qrst"),
    "basic": ("'Authorization': 'Basic dXNlcjpwYXNzd29yZDEyMw=='", "dXNlcjpwYXNzd29yZDEyMw=="),
    "password=": ("password=hunter2hunter2", "hunter2hunter2"),
    "password:": ("password: hunter2hunter2", "hunter2hunter2"),
    "password in words": ("my password is hunter2hunter2.", "hunter2hunter2"),
    "password for a thing": ("the password for the staging db is Tr0ub4dor&3", "Tr0ub4dor&3"),
    "password, quoted": ('password = "hunter2hunter2"', "hunter2hunter2"),
    "password, quoted in JSON": (r"password = \"hunter2hunter2\"", "hunter2hunter2"),
    "password, typed": ('password: str = "hunter2hunter2"', "hunter2hunter2"),
    "pass phrase": ('"password": "correct horse battery staple"', "battery"),
    "api_key": ("api_key=abcdef123456", "abcdef123456"),
    "token": ("token = 'abcdef-123456'", "abcdef-123456"),
    "client secret": ('{"client_secret": "abcdefgh12345678"}', "abcdefgh12345678"),
    "client secret, escaped": (r"{\"client_secret\": \"abcdefgh12345678\"}", "abcdefgh12345678"),
    "environment": (f"export OPENAI_API_KEY={ALNUM}", ALNUM),
    "environment, letters": ("DB_PASSWORD=swordfish", "swordfish"),
    "flag": ("deploy --token abcd1234efgh", "abcd1234efgh"),
    "curl": ("curl -u admin:hunter22 https://x", "hunter22"),
    "query": ("https://x.com/cb?access_token=abcdef123456&x=1", "abcdef123456"),
    "dotted token": (f"BOT_TOKEN={ALNUM}.Cl2FMQ.{ALNUM}", ALNUM),
    "pem": (
        f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}-----END RSA PRIVATE KEY-----",
        "abcdABCD",
    ),
    "pem in JSON": (
        json.dumps(f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}-----END PRIVATE KEY-----"),
        "abcdABCD",
    ),
    "pem, cut off": (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM_BODY}", "abcdABCD"),
    "after an escaped line end": (r"first\nsk-proj-FAKE-KEY-FOR-TESTS", "FAKE"),
}

INNOCENT = [
    "commit be7a144f8b1153ea3cd9378a662ea10579557332",
    "thread 01a22885-a84d-73b3-9289-cd655708d96d",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "/home/user/.codex/sessions/2026/11/29/rollout-x.jsonl",
    "the session is abc123def456",
    "def connect(token: str, password: str | None = None) -> None:",
    "password = getpass()",
    'password=getpass.getpass("Password: ")',
    'api_key=os.environ["OPENAI_API_KEY"]',
    'api_key = os.getenv("OPENAI_API_KEY")',
    "token = self.token",
    "secret = settings.SECRET_KEY",
    "const token = await getToken();",
    'token = request.headers.get("X-Token")',
    "login(token=token, password=password)",
    "password: passwordInput.value",
    "max_tokens: 20000, input_tokens=100, total_token=123456",
    'env_key = "OPENAI_API_KEY"',
    "password: string;",
    "the token is required",
    "The password is stored in the vault.",
    "the token is base64-encoded",
    '"password": "Enter your password"',
    "password=${DB_PASSWORD}",
    "password = [REDACTED_SECRET]",
    "tokenizer: cl100k_base",
    "sk-learn-tool-kit-for-everyone and a-task-list-of-something-long",
    "a basic understanding of Internationalization",
    "https://example.com:8080/path@x and git@github.com:user/repo.git",
    "secret scanning and api key rotation are on",
    "pat = re.compile(r'x')",
    "model gpt-5.6, token limit 2500",
    "api_key == client.WORKLOAD_IDENTITY_API_KEY_PLACEHOLDER",
    'url = f"ws://{host}/?token={secret}"',
]

HOSTILE = [
    "token=",
    'password="',
    '"token":"',
    "eyJ",
    "eyJaaaaaaaaa.",
    "sk-",
    "sk-a",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nA-b: c\n",
    "-----BEGIN ",
    "://a:",
    "bearer ",
    "token is ",
    "password for a b c ",
    "token=os.environ",
    "token: a|a",
    "--token ",
    "-u a:",
    'password="\\',
    "token    ",
    "passwordpassword=",
    "AKIA",
]


@pytest.mark.requirement("MW-8.3-bearer")
@pytest.mark.parametrize("name", SECRETS)
def test_each_shape_of_secret_is_taken_out_and_a_second_pass_changes_nothing(name: str) -> None:
    text, secret = SECRETS[name]
    clean = redact(text)
    assert secret not in clean and MARK in clean
    assert contains_secret(text)
    assert redact(clean) == clean


@pytest.mark.requirement("MW-8.3-bearer")
@pytest.mark.parametrize("text", INNOCENT)
def test_hashes_ids_paths_and_code_stay(text: str) -> None:
    assert redact(text) == text
    assert not contains_secret(text)


@pytest.mark.requirement("MW-9-8")
def test_what_stands_around_a_secret_stays() -> None:
    text = 'FACT: British English. password = "hunter2hunter2" and more'
    assert redact(text) == f'FACT: British English. password = "{MARK}" and more'
    assert redact("postgres://app:s3cr3tpw@db/app") == f"postgres://app:{MARK}@db/app"
    assert redact("Authorization: Bearer abcdefghijklmnopq") == f"Authorization: Bearer {MARK}"


def test_a_json_value_is_redacted_by_its_texts_and_by_its_names() -> None:
    value = {
        "password": "hunter2hunter2",
        "nested": [{"text": "sk-proj-FAKE-KEY-FOR-TESTS"}, 3, None],
        "token": "hi",
        "max_tokens": 12,
    }
    assert redact_json(value) == {
        "password": MARK,
        "nested": [{"text": MARK}, 3, None],
        "token": "hi",
        "max_tokens": 12,
    }


def test_a_json_value_nested_without_end_is_cut() -> None:
    value: object = "sk-proj-FAKE-KEY-FOR-TESTS"
    for _ in range(500):
        value = [value]
    assert "FAKE" not in json.dumps(redact_json(value))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_costs_a_fixed_number_of_looks_at_each_character(text: str) -> None:
    whole = text * (100_000 // len(text))
    assert Scan(whole).run().looked <= 25 * len(whole)


def test_a_megabyte_of_all_of_them_costs_no_more_a_character() -> None:
    whole = "".join(text * (1_000_000 // len(HOSTILE) // len(text)) + " " for text in HOSTILE)
    assert len(whole) > 950_000
    assert Scan(whole).run().looked <= 25 * len(whole)


@settings(deadline=None)
@given(st.text(alphabet="token=:\"'\\ sk-Aa1.@/-BEGINPRVTKY\n", max_size=200))
def test_redaction_is_stable_on_any_text(text: str) -> None:
    once = redact(text)
    assert redact(once).count(MARK) >= once.count(MARK)
    assert contains_secret(text) == (once != text)


def test_a_preview_is_one_short_line_without_secrets() -> None:
    assert preview_of("  fix\n\n the  tests ") == "fix the tests"
    assert preview_of("use sk-proj-FAKE-KEY-FOR-TESTS") == f"use {MARK}"
    long = preview_of("word " * 1_000)
    assert len(long) <= PREVIEW_CHARS_MAX and long.endswith("…")
