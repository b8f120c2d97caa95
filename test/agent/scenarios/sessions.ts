/** What a session lives through beside its turns, and prompts that are none of the ordinary kind. */
import type { Client } from "../client.ts"
import type { ServeScenario } from "../scenario.ts"
import { SECOND } from "../setup.ts"
import { AGENT_MS, ASKED, answered, begin, idle, SERVE, START, touch } from "./steps.ts"

/** The id of the session's first user message. */
function promptOf(agent: Client, session: string): string {
  for (const { type, properties } of agent.bus.seen()) {
    const info = (properties.info ?? {}) as { id?: string; role?: string; sessionID?: string }
    if (type === "message.updated" && info.role === "user" && info.sessionID === session)
      return String(info.id)
  }
  throw new Error(`no user message in ${session}`)
}

/** See the titles. */
export const SESSIONS: readonly ServeScenario[] = [
  {
    ...SERVE,
    name: "housekeeping",
    title: "a rename, a revert taken back and an archive leave no word beside the run",
    drive: async (agent) => {
      const main = await begin(agent, "old name", "SAY: hello")
      await idle(agent, main)
      await agent.call("PATCH", `/session/${main}`, { title: "new name" })
      await agent.call("POST", `/session/${main}/revert`, { messageID: promptOf(agent, main) })
      await agent.call("POST", `/session/${main}/unrevert`)
      await agent.call("PATCH", `/session/${main}`, { time: { archived: Date.now() } })
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished"] }),
  },
  {
    ...SERVE,
    name: "prompt-while-busy",
    title: "a second prompt while the first one is worked on is answered in the same run",
    drive: async (agent) => {
      const main = await begin(agent, "twice", `${touch}\nSAY: one`)
      const ask = await agent.ask(main, AGENT_MS)
      await agent.prompt(main, "SAY: two")
      await agent.answerAsk(main, ask, "once")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...ASKED, ...answered("once"), "tool.completed bash", "run.finished"] }),
  },
  {
    ...SERVE,
    name: "slash-command",
    title: "a slash command is a run like any other",
    drive: async (agent) => {
      const main = await agent.createSession("command")
      await agent.command(main, "greet", "hello")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished"] }),
  },
  {
    ...SERVE,
    name: "unknown-command",
    title: "an unknown slash command is no run, whatever error the session reports",
    drive: async (agent) => {
      const main = await agent.createSession("command")
      const answer = await agent.command(main, "nowhere", "hello").catch((error: unknown) => String(error))
      if (!String(answer).includes("answered 500")) throw new Error(`the agent took it: ${String(answer)}`)
      return { main }
    },
    expected: () => ({ main: ["session.started"] }),
  },
  {
    ...SERVE,
    name: "two-projects",
    title: "two projects of one server are told by two instances, and their sessions are kept apart",
    budgetMs: 15_000,
    drive: async (agent, sandbox) => {
      const second = await agent.at(sandbox.other(SECOND))
      const [main, other] = [
        await begin(agent, "here", `${touch}\nSAY: here`),
        await begin(second, "there", `${touch}\nSAY: there`),
      ]
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "reject")
      await second.answerAsk(other, await second.ask(other, AGENT_MS), "once")
      await Promise.all([idle(agent, main), idle(second, other)])
      return { main, other }
    },
    apart: ["main", "other"],
    expected: () => ({
      main: [...ASKED, ...answered("reject"), "tool.failed bash rejected", "run.failed rejected"],
      other: [...ASKED, ...answered("once"), "tool.completed bash", "run.finished"],
    }),
  },
]
