/**
 * The scenarios of `serve`. The expected lines follow the truth rules of the design (section 6), reviewed by hand;
 * they are not a copy of what the service happened to say.
 */
import type { ServeScenario } from "./scenario.ts"
import type { Served } from "./serve.ts"

/** Every wait for the agent itself; a loaded machine may need it, a good one does not come near. */
const AGENT_MS = 20_000

const call = (tool: string, args: Record<string, unknown>) => `RUN: ${tool} ${JSON.stringify(args)}`
const touch = call("bash", { command: "echo hi > made.txt", description: "makes a file" })

const START = ["session.started", "run.started user"]
const ASK = "attention.requested permission bash once|always|reject"
const ASKED = [...START, "tool.requested bash", ASK]

/** Waits until the session went idle `times` times. */
async function idle(agent: Served, session: string, times = 1): Promise<void> {
  const isIdle = (event: { type: string; properties: Record<string, unknown> }) =>
    event.type === "session.idle" && event.properties.sessionID === session
  await agent.bus.until(`idle ${times} of ${session}`, AGENT_MS, isIdle, times)
}

async function promptOnce(agent: Served, title: string, text: string): Promise<string> {
  const session = await agent.createSession(title)
  await agent.prompt(session, text)
  return session
}

export const SERVE_SCENARIOS: readonly ServeScenario[] = [
  {
    mode: "serve",
    name: "answer",
    title: "an answer without a tool finishes the run",
    budgetMs: 20_000,
    drive: async (agent) => {
      // Without a title: the agent makes one up by a request of its own.
      const main = await agent.createSession()
      await agent.prompt(main, "THINK: let me see\nSAY*5: hello")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "run.finished"] }),
  },
  {
    mode: "serve",
    name: "tool-success",
    title: "a tool that succeeds is requested and completed inside a finished run",
    budgetMs: 20_000,
    drive: async (agent, { project }) => {
      const main = await promptOnce(
        agent,
        "read",
        `${call("read", { filePath: `${project}/notes.txt` })}\nSAY: read`,
      )
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "tool.requested read", "tool.completed read", "run.finished"] }),
  },
  {
    mode: "serve",
    name: "tool-error",
    title: "a tool that fails is told as failed and the run still finishes",
    budgetMs: 20_000,
    drive: async (agent, { project }) => {
      const main = await promptOnce(
        agent,
        "read nothing",
        `${call("read", { filePath: `${project}/missing.txt` })}\nSAY: not there`,
      )
      await idle(agent, main)
      return { main }
    },
    expected: () => ({ main: [...START, "tool.requested read", "tool.failed read error", "run.finished"] }),
  },
  {
    mode: "serve",
    name: "permission-once",
    title: "an ask allowed in the agent's own way is answered out of band, then its tool completes",
    budgetMs: 20_000,
    drive: async (agent) => {
      const main = await promptOnce(agent, "allow", `${touch}\nSAY: made`)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "once")
      await idle(agent, main)
      return { main }
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
  {
    mode: "serve",
    name: "permission-reject",
    title: "an ask rejected in the agent's own way fails its tool and the run as rejected",
    budgetMs: 20_000,
    drive: async (agent) => {
      const main = await promptOnce(agent, "reject", `${touch}\nSAY: made`)
      await agent.answerAsk(main, await agent.ask(main, AGENT_MS), "reject")
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...ASKED,
        "attention.answered reject oob",
        "attention.resolved answered",
        "tool.failed bash rejected",
        "run.failed rejected",
      ],
    }),
  },
  {
    mode: "serve",
    name: "question",
    title: "a question is a form beside its tool call, and its answer completes both",
    budgetMs: 20_000,
    on: ({ features }) => features.question,
    drive: async (agent) => {
      const options = [
        { label: "red", description: "warm" },
        { label: "blue", description: "cold" },
      ]
      const questions = [{ question: "Which colour?", header: "Colour", options }]
      const main = await promptOnce(agent, "question", `${call("question", { questions })}\nSAY: blue then`)
      await agent.answerQuestion(await agent.question(main, AGENT_MS), [["blue"]])
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested question",
        "attention.requested form 1:select",
        'attention.answered {"1":["2"]} oob',
        "attention.resolved answered",
        "tool.completed question",
        "run.finished",
      ],
    }),
  },
  {
    mode: "serve",
    name: "todos",
    title: "a todo list written twice plans each task once and completes the done one",
    budgetMs: 20_000,
    drive: async (agent) => {
      const todo = (id: string, content: string, status: string) => ({ id, content, status, priority: "high" })
      const first = { todos: [todo("1", "dig", "in_progress"), todo("2", "fill", "pending")] }
      const second = { todos: [todo("1", "dig", "completed"), todo("2", "fill", "in_progress")] }
      const main = await promptOnce(
        agent,
        "todos",
        `${call("todowrite", first)}\n${call("todowrite", second)}\nSAY: dug`,
      )
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested todowrite",
        "progress.task.planned 1",
        "progress.task.planned 2",
        "tool.completed todowrite",
        "tool.requested todowrite",
        "progress.task.completed 1",
        "tool.completed todowrite",
        "run.finished",
      ],
    }),
  },
  {
    mode: "serve",
    name: "subagent",
    title: "a sub-agent is a session of its own with its parent, and a delegation on the parent",
    budgetMs: 30_000,
    drive: async (agent, { project }) => {
      const prompt = `${call("read", { filePath: `${project}/notes.txt` })}\nSAY: seen`
      const task = { description: "look", prompt, subagent_type: "general" }
      const main = await promptOnce(agent, "delegate", `${call("task", task)}\nSAY: thanks`)
      const isChild = (info: unknown) => (info as { parentID?: unknown } | undefined)?.parentID === main
      const created = await agent.bus.until(
        `child of ${main}`,
        AGENT_MS,
        ({ type, properties }) => type === "session.created" && isChild(properties.info),
      )
      await idle(agent, main)
      return { main, child: (created.properties.info as { id: string }).id }
    },
    expected: () => ({
      main: [
        ...START,
        "tool.requested task",
        "delegation.subagent.started child",
        "delegation.subagent.stopped child",
        "tool.completed task",
        "run.finished",
      ],
      child: [
        "session.started of main",
        "run.started agent",
        "tool.requested read",
        "tool.completed read",
        "run.finished",
      ],
    }),
  },
]
