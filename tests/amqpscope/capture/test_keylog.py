from amqpscope.capture.keylog import Keys


def test_keys_name_connections_by_their_random():
    one, two, three = ("ab" * 32, "cd" * 32, "ef" * 32)
    keys = Keys(
        f"# made by a test\r\nCLIENT_RANDOM {one} {'00' * 48}\r\n\nbroken\n".encode(),
        f"CLIENT_TRAFFIC_SECRET_0 {two.upper()} {'00' * 32}\nCLIENT_RANDOM xyz 00\n".encode(),
    )
    known = [keys.knows(bytes.fromhex(random)) for random in (one, two, three)]
    assert known == [True, True, False]


def test_a_key_without_a_random_may_fit_any_connection():
    assert Keys(b"RSA 0123456789abcdef 00112233").knows(b"x" * 32)


def test_keys_see_a_growing_list():
    texts = []
    keys = Keys()
    keys.watch(texts)
    assert not keys
    texts.append(b"CLIENT_RANDOM " + b"ab" * 32 + b" 00")
    assert keys
    assert keys.knows(b"\xab" * 32)
    assert keys.text().startswith(b"CLIENT_RANDOM")
