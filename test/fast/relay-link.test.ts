/** The connection to the relay: one retry per attempt whatever ends it, patience in every stage, words as the
 *  binding wants them. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { Backoff } from "../../service/emit/relay/backoff.ts"
import { line, type PeerSocket, RelayHome } from "./relay-peer.ts"

let home: RelayHome
beforeEach(() => {
  home = new RelayHome()
})
afterEach(() => home.remove())

const frames = (socket: PeerSocket) => socket.sent.map((text) => JSON.parse(text))

describe("an attempt is followed by exactly one other when there comes", () => {
  const ENDS: [name: string, end: (socket: PeerSocket) => void][] = [
    ["an error only", ({ handlers }) => handlers.failed(undefined)],
    ["a close only", ({ handlers }) => handlers.closed()],
    [
      "an error, then a close",
      ({ handlers }) => {
        handlers.failed(undefined)
        handlers.closed()
      },
    ],
    [
      "a close, then an error",
      ({ handlers }) => {
        handlers.closed()
        handlers.failed(undefined)
      },
    ],
    ["neither within ten seconds", () => home.clock.advance(10_000)],
  ]

  describe.each(ENDS)("%s", (_name, end) => {
    test("before it opened", () => {
      home.binding().start()
      end(home.peer.last)
      expect(home.peer.sockets).toHaveLength(1)
      expect(home.clock.waiting).toBe(1)
      home.clock.advance(500)
      expect(home.peer.sockets).toHaveLength(2)
      home.clock.advance(9_999)
      expect(home.peer.sockets).toHaveLength(2)
      expect(home.peer.sockets[0]?.end).toBe("abandoned")
    })

    test("before the relay's hello", () => {
      home.binding().start()
      home.peer.last.open(false)
      end(home.peer.last)
      expect(home.clock.waiting).toBe(1)
      home.clock.advance(500)
      expect(home.peer.sockets).toHaveLength(2)
    })
  })

  test.each(ENDS.slice(0, 4))("%s, while it was ready", (_name, end) => {
    const binding = home.connected()
    end(home.peer.last)
    expect(home.clock.waiting).toBe(1)
    expect(binding.status()).toMatchObject({ isReady: false, reconnects: 0 })
    home.clock.advance(500)
    expect(home.peer.sockets).toHaveLength(2)
    expect(binding.status().reconnects).toBe(1)
  })

  test("a late word of a socket that was given up", () => {
    home.binding().start()
    const first = home.peer.last
    home.clock.advance(10_000 + 500)
    expect(home.peer.sockets).toHaveLength(2)
    first.open().pong()
    first.handlers.closed()
    first.handlers.failed(401)
    expect(home.clock.waiting).toBe(1)
    expect(first.sent).toEqual([])
  })

  test("an address that the runtime throws at", () => {
    let calls = 0
    const connect = () => {
      calls += 1
      throw new SyntaxError("no")
    }
    home.binding({ connect }).start()
    home.clock.advance(500)
    expect(calls).toBe(2)
    expect(home.told).toHaveLength(1)
  })
})

describe("the pause before the next attempt", () => {
  test("doubles from half a second to thirty, spread by chance between its half and its whole", () => {
    const pauses = (random: number) => {
      const backoff = new Backoff(() => random, 500, 30_000)
      return Array.from({ length: 9 }, () => backoff.next())
    }
    expect(pauses(0)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
    expect(pauses(0.5)).toEqual([375, 750, 1500, 3000, 6000, 12_000, 22_500, 22_500, 22_500])
  })

  test("is short again only after a connection lived through its first pong", () => {
    home.binding().start()
    for (const pause of [500, 1000, 2000]) {
      // Hello alone does not prove that the relay reads us.
      home.peer.last.open().handlers.closed()
      const before = home.peer.sockets.length
      home.clock.advance(pause - 1)
      expect(home.peer.sockets).toHaveLength(before)
      home.clock.advance(1)
      expect(home.peer.sockets).toHaveLength(before + 1)
    }
    home.peer.last.open().pong()
    home.peer.last.handlers.closed()
    home.clock.advance(500)
    expect(home.peer.sockets).toHaveLength(5)
  })

  test.each([
    [401, "AEP_RELAY_TOKEN"],
    [403, "AEP_RELAY_TOKEN"],
    [426, "AEP 0.1"],
  ])("is the longest after an upgrade refused with %p, and the remedy is told once", (status, remedy) => {
    home.binding().start()
    for (let attempt = 0; attempt < 3; attempt += 1) {
      home.peer.last.handlers.failed(status)
      home.clock.advance(29_000)
      expect(home.peer.sockets).toHaveLength(attempt + 1)
      home.clock.advance(1_000)
      expect(home.peer.sockets).toHaveLength(attempt + 2)
    }
    expect(home.told).toEqual([expect.stringContaining(remedy)])
  })

  test.each([
    ["unauthorized", "AEP_RELAY_TOKEN"],
    ["version-unsupported", "AEP 0.1"],
  ])("is the longest after the error %p instead of a hello", (code, remedy) => {
    home.binding().start()
    home.peer.last.open(false).say({ type: "error", code })
    home.peer.last.handlers.closed()
    home.clock.advance(29_000)
    expect(home.peer.sockets).toHaveLength(1)
    home.clock.advance(1_000)
    expect(home.peer.sockets).toHaveLength(2)
    expect(home.told).toEqual([expect.stringContaining(remedy)])
  })

  test("is the longest after a hello that chose another version", () => {
    home.binding().start()
    home.peer.last.open(false).say({ type: "hello", versions: ["9.9"] })
    expect(home.peer.last.end).toBe("abandoned")
    home.clock.advance(29_000)
    expect(home.peer.sockets).toHaveLength(1)
  })
})

describe("an outage is told once for each reason, and again only after the relay was well", () => {
  test("a refusal after a silence", () => {
    home.binding().start()
    home.peer.last.handlers.closed()
    home.clock.advance(500)
    home.peer.last.handlers.failed(401)
    expect(home.told).toEqual([
      expect.stringContaining("AEP_RELAY_URL"),
      expect.stringContaining("AEP_RELAY_TOKEN"),
    ])
  })

  test("the same one, again and again", () => {
    home.binding().start()
    for (let attempt = 0; attempt < 5; attempt += 1) {
      home.peer.last.handlers.closed()
      home.clock.advance(30_000)
    }
    expect(home.told).toHaveLength(1)
    home.peer.last.open().pong()
    home.peer.last.handlers.closed()
    home.clock.advance(500)
    expect(home.told).toHaveLength(1)
    home.peer.last.handlers.failed(undefined)
    expect(home.told).toHaveLength(2)
    expect(home.told[1]).toContain("They stay in the logs")
  })
})

describe("the words on the wire", () => {
  test("begin with our hello, and nothing else leaves before the relay's, however late it is", () => {
    const binding = home.binding()
    binding.start()
    binding.said(...home.append("opencode/s.jsonl", line("a")))
    home.peer.last.open(false)
    home.clock.advance(9_999)
    expect(frames(home.peer.last)).toEqual([
      {
        type: "hello",
        versions: ["0.1"],
        role: "emitter",
        identity: { agent: "opencode", instance: "here" },
        capabilities: { control: { accepts: ["control.cancel"], ack_window_ms: 9000 } },
      },
    ])
    expect(binding.status().isReady).toBe(false)
    home.peer.last.say({ type: "hello", versions: ["0.1"], capabilities: { zigzag: {} } })
    expect(binding.status().isReady).toBe(true)
    expect(home.peer.last.ids).toEqual(["a"])
  })

  test("carry the token in a header and not in the address", () => {
    home.binding().start()
    expect(home.peer.last.headers).toEqual({ authorization: "Bearer relay-token" })
    expect(home.peer.last.url).toBe("ws://relay/socket")
  })

  test("answer a ping with what it carried", () => {
    home.connected()
    home.peer.last.say({ type: "ping", t: 12.5 })
    expect(home.peer.last.sent.at(-1)).toBe('{"type":"pong","t":12.5}')
  })

  test("hand on what has a dot in its type, as received, once the relay said hello", () => {
    const binding = home.binding()
    binding.start()
    const text = '{ "type": "control.cancel", "id": "c1" }'
    home.peer.last.open(false).handlers.message(text)
    expect(home.commands).toEqual([])
    home.peer.last.say({ type: "hello", versions: ["0.1"] })
    home.peer.last.handlers.message(text)
    expect(home.commands).toEqual([text])
    expect(binding.status().commands).toBe(1)
  })

  test.each([
    ["an unknown frame", '{"type":"zigzag"}', 0],
    ["a pong nobody asked for", '{"type":"pong","t":1}', 0],
    ["a pong without a number", '{"type":"pong"}', 0],
    ["a second hello", '{"type":"hello","versions":["9.9"]}', 0],
    ["no JSON", "{", 1],
    ["an array", "[]", 1],
    ["null", "null", 1],
    ["a frame without a type", "{}", 1],
    ["binary", new Uint8Array([123, 125]), 1],
    ["more than we would parse", `{"type":"a.b","x":"${"x".repeat(1024 * 1024)}"}`, 1],
  ])("%s changes nothing", (_name, data, errors) => {
    const binding = home.connected()
    const sent = home.peer.last.sent.length
    home.peer.last.handlers.message(data)
    expect(home.peer.last.sent).toHaveLength(sent)
    expect(binding.status()).toMatchObject({ isReady: true, errors, commands: 0 })
  })

  test("errors are counted, told once for each code, and never quoted beyond a plain code", () => {
    const binding = home.connected()
    for (const code of ["invalid-event", "invalid-event", "no-route", "rm -rf /\n", 7]) {
      home.peer.last.say({ type: "error", code, detail: "secret content" })
    }
    expect(binding.status()).toMatchObject({ errors: 5, isReady: true })
    expect(home.told).toHaveLength(3)
    expect(home.told.join()).not.toContain("secret")
    expect(home.told.join()).not.toContain("rm -rf")
  })
})

describe("a relay that answers no ping", () => {
  test("is left after thirty seconds and tried again", () => {
    home.connected()
    const first = home.peer.last
    home.clock.advance(30_000)
    expect(first.pings).toHaveLength(2)
    home.clock.advance(29_999)
    expect(first.end).toBeUndefined()
    home.clock.advance(1)
    expect(first.end).toBe("abandoned")
    home.clock.advance(500)
    expect(home.peer.sockets).toHaveLength(2)
  })

  test("but takes bytes from us is slow, not frozen", () => {
    const binding = home.connected()
    binding.said(...home.append("opencode/s.jsonl", line("a")))
    home.peer.last.bufferedAmount = 1000
    home.clock.advance(0)
    for (const left of [800, 600, 400]) {
      home.peer.last.bufferedAmount = left
      home.clock.advance(30_000)
      expect(home.peer.last.end).toBeUndefined()
    }
    home.clock.advance(30_000)
    expect(home.peer.sockets[0]?.end).toBe("abandoned")
  })

  test("after its hello is no proof: the first ping leaves at once", () => {
    home.binding().start()
    home.peer.last.open()
    expect(home.peer.last.pings).toHaveLength(1)
    home.clock.advance(30_000)
    expect(home.peer.sockets[0]?.end).toBe("abandoned")
  })
})

describe("a relay that says it is closing", () => {
  test("gets no more events; what it has not confirmed goes to its successor", () => {
    const binding = home.connected()
    home.peer.last.say({ type: "closing", reason: "upgrade", delivered: [] })
    binding.said(...home.append("opencode/s.jsonl", line("a")))
    home.clock.advance(100)
    expect(home.peer.last.ids).toEqual([])
    home.peer.last.handlers.closed()
    home.clock.advance(500)
    home.peer.last.open()
    expect(home.peer.last.ids).toEqual(["a"])
  })

  test("and does not is left when the pong is due", () => {
    home.connected()
    home.peer.last.say({ type: "closing", reason: "upgrade" })
    home.clock.advance(30_000)
    expect(home.peer.sockets[0]?.end).toBe("abandoned")
  })
})

describe("the end", () => {
  test("takes leave of a relay that is there, arms nothing, and may come twice", async () => {
    const binding = home.connected()
    await binding.close(1000)
    await binding.close(1000)
    expect(frames(home.peer.last).at(-1)).toEqual({ type: "closing", reason: "shutdown", delivered: [] })
    expect(home.peer.last.end).toBe("closed")
    home.peer.last.handlers.closed()
    expect(home.clock.waiting).toBe(0)
    expect(home.peer.sockets).toHaveLength(1)
  })

  test.each([
    ["connecting", () => undefined],
    ["waiting to try again", () => home.peer.last.handlers.closed()],
    ["greeting", () => void home.peer.last.open(false)],
  ])("while %s waits for nobody", async (_name, prepare) => {
    const binding = home.binding()
    binding.start()
    prepare()
    await binding.close(60_000)
    expect(home.clock.waiting).toBe(0)
    expect(home.peer.sockets).toHaveLength(1)
  })
})
