/**
 * A service that cannot start says why in one line that names the remedy, ends with 2, and harms nobody who runs.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { type Home, launch, openHome, startService } from "./service.ts"
import { Story } from "./story.ts"

const port = suitePort("crash", 4)
const otherPort = suitePort("crash", 5)

let story: Story
let other: Home

beforeAll(async () => {
  story = new Story(port)
  await story.start()
  await story.live("ses_one", 1)
}, 30_000)
afterAll(() => story.close())
afterEach(() => other?.remove())

async function refused(home: string, at: number, env: Record<string, string> = {}): Promise<string> {
  const child = launch(home, at, env)
  try {
    await waitFor("end of a service that cannot start", 10_000, () => !child.isRunning())
    expect(await child.exited).toBe(2)
    expect(child.stdout()).toBe("")
    expect(child.stderr()).toMatch(/^opencode-aep: [^\n]+\n$/)
    return child.stderr()
  } finally {
    await child.stop()
  }
}

/** The first service still runs, owns its home and takes moments on both roads. */
async function expectUnharmed(): Promise<void> {
  expect(readFileSync(join(story.home.path, "service.pid"), "utf8").trim()).toBe(String(story.service.pid))
  expect(readFileSync(join(story.home.path, "plugin.json"), "utf8")).toContain(`:${port}"`)
  const lost = story.feeder.lost
  await story.takeTurn("ses_one", `${story.feeder.fed.length}`)
  await story.takeTurn("ses_one", `${story.feeder.fed.length}`)
  expect(story.feeder.lost).toBe(lost)
  expect(story.faults()).toEqual([])
}

test("a port in use is named with its remedy, and leaves the home free", async () => {
  other = openHome()
  const line = await refused(other.path, port)
  expect(line).toContain(`port ${port}`)
  expect(line).toContain("AEP_OPENCODE_PORT")
  expect(existsSync(join(other.path, "service.pid"))).toBe(false)
  await expectUnharmed()
  const next = await startService(other.path, otherPort)
  expect(await next.end("SIGTERM")).toBe(0)
}, 30_000)

test("a home that another service owns is named with its remedy, on its port as on another", async () => {
  for (const at of [port, otherPort]) {
    const line = await refused(story.home.path, at)
    expect(line).toContain("another opencode-aep service")
    expect(line).toContain("home")
    await expectUnharmed()
  }
}, 30_000)

test("a home that cannot be a folder is named with its remedy", async () => {
  other = openHome()
  const file = join(other.path, "file")
  writeFileSync(file, "")
  for (const home of [file, join(file, "home")]) {
    const line = await refused(home, otherPort)
    expect(line).toContain(`AEP_HOME ${home}`)
    expect(line).toContain("set AEP_HOME")
  }
}, 30_000)

test("a home that must not be written is named with its remedy", async () => {
  // Where nobody may make a folder: a plain user not at the root, and root not in the kernel's own tree.
  const closed = process.getuid?.() === 0 ? "/sys/aep" : "/aep"
  expect(await refused(closed, otherPort)).toContain(`AEP_HOME ${closed}`)
}, 30_000)

const BAD: readonly (readonly [string, string])[] = [
  ["AEP_OPENCODE_PORT", "abc"],
  ["AEP_OPENCODE_PORT", "65536"],
  ["AEP_OPENCODE_HOST", "0.0.0.0"],
  ["AEP_HOME", "relative/home"],
  ["AEP_OPENCODE_KEY", "short"],
  ["AEP_TOKEN", "short"],
  ["AEP_MAX_BODY", "1e9"],
  ["AEP_MAX_BATCH", "0"],
  ["AEP_PUBLIC_URL", "example"],
  ["AEP_ALLOWED_ORIGINS", "https://a.example/path"],
]

test.each(BAD)(
  "a bad %s (%s) is named and nothing is made",
  async (name, value) => {
    other = openHome()
    const home = join(other.path, "home")
    const line = await refused(home, otherPort, { [name]: value })
    expect(line).toContain(name)
    expect(existsSync(home)).toBe(false)
  },
  30_000,
)

test("two services on two homes go side by side", async () => {
  const second = new Story(otherPort, "inst-second")
  try {
    await second.start()
    await Promise.all([second.live("ses_one", 3), story.live("ses_side", 3)])
    expect(await second.service.end("SIGTERM")).toBe(0)
    expect(second.faults()).toEqual([])
    await expectUnharmed()
  } finally {
    await second.close()
  }
}, 30_000)
