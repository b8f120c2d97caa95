/** What a provider can do to a run: refuse, fail until the agent gives up, drop the line, find the context too long. */
import type { ServeScenario } from "../scenario.ts"
import { AGENT_MS, begin, idle, SERVE, START } from "./steps.ts"

const TOO_LONG = "ERR: 400 times=1 because This model's maximum context length is 100 tokens"

/** See the titles. */
export const PROVIDERS: readonly ServeScenario[] = [
  {
    ...SERVE,
    name: "error-400",
    title: "a provider that refuses the request fails the run at once",
    drive: async (agent) => {
      const main = await begin(agent, "bad request", "ERR: 400")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.failed APIError"] }),
  },
  {
    ...SERVE,
    name: "error-500",
    title: "a provider that keeps failing fails the run when the agent gives up",
    budgetMs: 20_000,
    // 1.0 tries again without a limit: 381 attempts were seen.
    on: ({ features }) => !features.legacy,
    drive: async (agent) => {
      const main = await begin(agent, "failing", "ERR: 500 retry-after-ms=10")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.failed APIError"] }),
  },
  {
    ...SERVE,
    name: "stream-cut",
    title: "a line that drops in the middle of an answer fails the run, unless the agent tries again",
    budgetMs: 20_000,
    drive: async (agent) => {
      const main = await begin(agent, "cut", "CUT: half of\nSAY: the whole")
      await idle(agent, main)
      return { main }
    },
    expected: ({ features }) => ({
      main: [...START, features.cutError === undefined ? "run.finished" : `run.failed ${features.cutError}`],
    }),
  },
  {
    ...SERVE,
    name: "overflow",
    title: "a context too long is compacted and the run goes on to its end, and on 1.0 fails the run",
    budgetMs: 20_000,
    drive: async (agent, { agent: { features } }) => {
      const main = await begin(agent, "overflow", `${TOO_LONG}\nSAY: short enough`)
      if (!features.legacy) {
        await agent.bus.until(
          `compaction of ${main}`,
          AGENT_MS,
          ({ type, properties }) => type === "session.compacted" && properties.sessionID === main,
        )
      }
      await idle(agent, main)
      return { main }
    },
    expected: ({ features }) => ({
      main: [
        ...START,
        ...(features.legacy ? ["run.failed APIError"] : ["session.compacted", "run.finished"]),
      ],
    }),
  },
]
