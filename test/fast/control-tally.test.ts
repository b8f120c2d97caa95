/** Requests counted by what became of them. */
import { expect, test } from "bun:test"
import { RequestTally } from "../../service/control/tally.ts"
import type { AepEvent } from "../../shared/aep.ts"

test("a request is counted once when it is raised, and once by how it ended", () => {
  const tally = new RequestTally()
  const event = (type: string, data?: object) => ({ event: { type, data } as unknown as AepEvent })
  tally.said([
    ...Array(5).fill(event("attention.requested", { kind: "permission" })),
    event("attention.answered", { via: "oob" }),
    event("attention.resolved", { resolution: "answered" }),
    event("attention.resolved", { resolution: "auto" }),
    event("attention.resolved", { resolution: "dismissed" }),
    event("attention.timeout", { after_ms: 5 }),
    // Of a kind that is none of ours, or without a word of it.
    event("attention.resolved", { resolution: "__proto__" }),
    event("attention.resolved"),
    event("tool.completed", {}),
  ])
  expect(tally.counts).toEqual({ raised: 5, answered: 1, auto: 1, dismissed: 1, lapsed: 1 })
})
