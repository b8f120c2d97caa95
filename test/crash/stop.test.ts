/**
 * The way down: a stop answers what is under way, says goodbye in the record and leaves nothing behind that looks
 * like a running service.
 */
import { afterEach, expect, test } from "bun:test"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { type Address, isListening, openConnection, writeRequest } from "./client.ts"
import { Story } from "./story.ts"
import { created } from "./workload.ts"

const port = suitePort("crash", 3)
const tcp: Address = { host: "127.0.0.1", port }
const instance = { id: "inst-raw", agent: "opencode", directory: "/", mode: "serve", plugin: "0.1.0" }

let story: Story
afterEach(() => story.close())

async function begin(): Promise<void> {
  story = new Story(port)
  await story.start()
  await story.live("ses_one", 1)
}

const inHome = (name: string) => join(story.home.path, name)

test("a running service has its process id in service.pid, readable by its user alone", async () => {
  await begin()
  expect(readFileSync(inHome("service.pid"), "utf8").trim()).toBe(String(story.service.pid))
  expect(statSync(inHome("service.pid")).mode & 0o777).toBe(0o600)
}, 30_000)

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends the service with 0, without service.pid and socket, with the agent's presence offline as the last word",
  async (signal) => {
    await begin()
    const { child } = story.service
    expect(await story.service.end(signal)).toBe(0)
    expect(child.stderr()).toBe("")
    expect(existsSync(inHome("service.pid"))).toBe(false)
    expect(existsSync(inHome("opencode.sock"))).toBe(false)
    const presence = story.record().get("")?.at(-1)
    expect([presence?.type, presence?.data]).toEqual(["agent.presence", { state: "offline" }])
    expect(story.faults()).toEqual([])
  },
  30_000,
)

test.each(["tcp", "socket"] as const)(
  "a batch half sent over %s when the stop comes is answered, and its lines are in the record",
  async (road) => {
    await begin()
    const address = road === "tcp" ? tcp : { path: inHome("opencode.sock") }
    const connection = await openConnection(address)
    try {
      const send = (first: number, moments: unknown[]) =>
        writeRequest(story.home.path, port, { instance, first, moments })
      // A whole round trip first: the connection is known to the service from here on.
      const hello = send(0, [])
      connection.write(hello.head + hello.body)
      await connection.until('"next":0')
      const { body: moment } = created("ses_late")
      const batch = send(0, [{ n: 0, at: Date.now(), ...moment }])
      connection.write(batch.head + batch.body.slice(0, 40))
      // Answered behind the half request, so the service has read that.
      await fetch(`${story.service.url}/healthz`)

      process.kill(story.service.pid, "SIGTERM")
      await waitFor("closed port", 5_000, async () => !(await isListening(tcp)))
      connection.write(batch.body.slice(40))
      await connection.until('"next":1')
      await waitFor("end of the service", 10_000, () => !story.service.child.isRunning())
      expect(await story.service.child.exited).toBe(0)
      expect(
        story
          .record()
          .get("ses_late")
          ?.map(({ type }) => type),
      ).toEqual(["session.started"])
      expect(story.record().get("")?.at(-1)?.data).toEqual({ state: "offline" })
    } finally {
      connection.close()
    }
  },
  30_000,
)

test("a client that never finishes its request cannot keep a stopped service alive", async () => {
  await begin()
  const connection = await openConnection(tcp)
  try {
    const batch = writeRequest(story.home.path, port, { instance, first: 0, moments: [] })
    connection.write(batch.head + batch.body.slice(0, 10))
    await fetch(`${story.service.url}/healthz`)
    expect(await story.service.end("SIGTERM")).toBe(0)
    expect(story.record().get("")?.at(-1)?.data).toEqual({ state: "offline" })
  } finally {
    connection.close()
  }
}, 30_000)

test("a second signal during a stop changes nothing", async () => {
  await begin()
  process.kill(story.service.pid, "SIGTERM")
  expect(await story.service.end("SIGINT")).toBe(0)
  expect(story.faults()).toEqual([])
}, 30_000)
