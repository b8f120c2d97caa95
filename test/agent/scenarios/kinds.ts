/** Every kind of ask that an agent knows, one call after the other. */
import type { ServeScenario } from "../scenario.ts"
import { ASK_ALL, ASK_ALL_LEGACY } from "../setup.ts"
import { allow, answered, asks, begin, call, idle, read, SERVE, START } from "./steps.ts"

const print = call("bash", { command: "printf hi", description: "prints" })
const todo = { id: "1", content: "dig", status: "pending", priority: "high" }

/** A call that is asked about by that rule, allowed once, and succeeds. */
const allowed = (tool: string, rule = tool, ...between: string[]) => [
  `tool.requested ${tool}`,
  asks(rule),
  ...answered("once"),
  ...between,
  `tool.completed ${tool}`,
]

/** One call that is asked about twice: for the folder outside of the project, then by its own rule. */
const allowedTwice = (tool: string, rule: string) => [
  `tool.requested ${tool}`,
  asks("external_directory"),
  ...answered("once"),
  asks(rule),
  ...answered("once"),
  `tool.completed ${tool}`,
]

/** See the titles. */
export const KINDS: readonly ServeScenario[] = [
  {
    ...SERVE,
    name: "asks-files",
    title: "each tool for files asks by its own rule, and outside of the project by the folder's rule before",
    budgetMs: 20_000,
    setup: ASK_ALL,
    on: ({ features }) => !features.legacy,
    drive: async (agent, { project, outside }) => {
      const script = [
        call("write", { filePath: `${project}/new.txt`, content: "new\n" }),
        call("edit", { filePath: `${project}/new.txt`, oldString: "new", newString: "old" }),
        read(`${project}/notes.txt`),
        call("glob", { pattern: "*.txt" }),
        call("grep", { pattern: "alpha" }),
        read(`${outside}/o.txt`),
        call("write", { filePath: `${outside}/p.txt`, content: "p\n" }),
        "SAY: done with files",
      ]
      const main = await begin(agent, "files", script.join("\n"))
      await allow(agent, main, 9)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        ...allowed("write", "edit"),
        ...allowed("edit"),
        ...allowed("read"),
        ...allowed("glob"),
        ...allowed("grep"),
        ...allowedTwice("read", "read"),
        ...allowedTwice("write", "edit"),
        "run.finished",
      ],
    }),
  },
  {
    ...SERVE,
    name: "asks-others",
    title: "shell, list, page, sub-agent, skill and a tool of an MCP server ask by rules of their own names",
    budgetMs: 20_000,
    setup: ASK_ALL,
    on: ({ features }) => !features.legacy,
    drive: async (agent, { page }) => {
      const script = [
        print,
        call("todowrite", { todos: [todo] }),
        call("webfetch", { url: page, format: "text" }),
        call("task", { description: "greet", prompt: "SAY: hi", subagent_type: "general" }),
        call("skill", { name: "greeting" }),
        call("tiny_echo", { text: "hey" }),
        "SAY: done with others",
      ]
      const main = await begin(agent, "others", script.join("\n"))
      await allow(agent, main, 6)
      await idle(agent, main)
      const made = agent.bus.seen().find(({ type, properties }) => {
        return type === "session.created" && JSON.stringify(properties.info).includes(`"parentID":"${main}"`)
      })
      return { main, child: String((made?.properties.info as { id?: unknown } | undefined)?.id) }
    },
    expected: () => ({
      main: [
        ...START,
        ...allowed("bash"),
        ...allowed("todowrite", "todowrite", "progress.task.planned task-1"),
        ...allowed("webfetch"),
        ...allowed("task", "task", "delegation.subagent.started child", "delegation.subagent.stopped child"),
        ...allowed("skill"),
        ...allowed("tiny_echo"),
        "run.finished",
      ],
      child: ["session.started of main", "run.started agent", "run.finished"],
    }),
  },
  {
    ...SERVE,
    name: "asks-legacy",
    title: "every rule that can ask on 1.0 asks by its own name",
    budgetMs: 20_000,
    setup: ASK_ALL_LEGACY,
    on: ({ features }) => features.legacy,
    drive: async (agent, { project, outside, page }) => {
      const script = [
        print,
        call("write", { filePath: `${project}/new.txt`, content: "new\n" }),
        call("edit", { filePath: `${project}/new.txt`, oldString: "new", newString: "old" }),
        read(`${outside}/o.txt`),
        call("webfetch", { url: page, format: "text" }),
        "SAY: done",
      ]
      const main = await begin(agent, "kinds", script.join("\n"))
      await allow(agent, main, 5)
      await idle(agent, main)
      return { main }
    },
    expected: () => ({
      main: [
        ...START,
        ...allowed("bash"),
        ...allowed("write"),
        ...allowed("edit"),
        ...allowed("read", "external_directory"),
        ...allowed("webfetch"),
        "run.finished",
      ],
    }),
  },
]
