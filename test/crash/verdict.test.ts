/**
 * A run that went idle just before the kill is judged by the next process, once.
 */
import { expect, test } from "bun:test"
import { waitFor } from "../agent/wait.ts"
import { suitePort } from "../ports.ts"
import { Story } from "./story.ts"

const port = suitePort("crash", 2)

test("a verdict that was waited for when the service died is given by the next one, once", async () => {
  const story = new Story(port)
  try {
    await story.start()
    await story.live("ses_idle", 1)
    await story.kill()
    const ends = () => (story.record().get("ses_idle") ?? []).filter(({ type }) => type === "run.finished")
    // The kill comes within the half second that a verdict waits.
    expect(ends()).toEqual([])
    await story.start()
    await waitFor("verdict", 10_000, () => ends().length > 0)
    await story.end("stop")
    expect(ends()).toHaveLength(1)
    expect(story.faults()).toEqual([])
  } finally {
    await story.close()
  }
}, 30_000)
