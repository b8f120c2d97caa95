/** The agent as a process of its own: `run` with its own exit, and the terminal with a person's keys. */
import { runOnce } from "../run.ts"
import type { ProcessScenario } from "../scenario.ts"
import { startTui } from "../tui.ts"
import { SELF_REJECTED } from "./asks.ts"
import { AGENT_MS, ASKED, START, touch } from "./steps.ts"

const RUN_MS = 45_000

/** See the titles. */
export const PROCESSES: readonly ProcessScenario[] = [
  {
    mode: "run",
    name: "run-finished",
    title: "`run` leaves a whole record although it exits right after its answer",
    budgetMs: 60_000,
    drive: async (sandbox) => {
      const { code, stdout, stderr } = await runOnce(sandbox, "SAY: hello", RUN_MS)
      if (code !== 0 || !stdout.includes("hello"))
        throw new Error(`run ended with ${code}\n${stdout}\n${stderr}`)
    },
    expected: () => ({ main: [...START, "run.finished"] }),
  },
  {
    mode: "run",
    name: "run-rejects",
    title: "`run` rejects an ask by itself, and the record says that the host did",
    budgetMs: 60_000,
    on: ({ features }) => features.runRejects !== undefined,
    drive: async (sandbox) => {
      const { code, stdout, stderr } = await runOnce(sandbox, `${touch}\nSAY: made`, RUN_MS)
      if (code !== sandbox.agent.features.runRejects)
        throw new Error(`run ended with ${code}\n${stdout}\n${stderr}`)
    },
    expected: () => ({ main: SELF_REJECTED }),
  },
  {
    mode: "tui",
    name: "tui-allow",
    title: "an ask allowed by a key in the terminal is answered out of band",
    budgetMs: 90_000,
    on: ({ label }) => label === "1.18.33",
    drive: async (sandbox) => {
      const tui = await startTui(sandbox)
      try {
        tui.type(touch)
        await tui.untilScreen(/RUN: bash/, AGENT_MS)
        tui.press("Enter")
        await tui.untilScreen(/Permission required/, AGENT_MS)
        // The first choice of the dialog is "Allow once".
        tui.press("Enter")
        await tui.untilScreen(/done\./, AGENT_MS)
        // The time it took stands under an answer that is complete; leaving before that would cut the turn off.
        await tui.untilScreen(/m1 · [\d.]+/, AGENT_MS)
      } finally {
        await tui.stop()
      }
    },
    expected: () => ({
      main: [
        ...ASKED,
        "attention.answered once oob",
        "attention.resolved answered",
        "tool.completed bash",
        "run.finished",
      ],
    }),
  },
]
