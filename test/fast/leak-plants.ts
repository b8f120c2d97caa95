/**
 * What the leak suite plants and where: secrets of every class the redaction knows, a canary that no rule could know, and
 * moments that carry them in every place where a person, a model, a tool or another plugin can put words.
 */
import type { MomentBody } from "../../shared/moments.ts"

/** A word of content, and the part of it that must not be found. */
export interface Plant {
  text: string
  needle: string
}

/** The user whose home it is, as the service's environment names it. */
export const HOME = "/home/plantedowner"
/** The variable whose value `AEP_REDACT_NAMES` names. */
export const NAMED = { name: "PLANTED_NAMED", value: "quietmarble 4711" }

/** One of each class. Every needle is long and nowhere else. */
export const SECRETS: Readonly<Record<string, Plant>> = {
  environment: { text: "AWS_SECRET_ACCESS_KEY=pl4nt/Env+9qQ2zR7", needle: "pl4nt/Env+9qQ2zR7" },
  bearer: { text: "Bearer pl4ntBearer.8f3k-2jd9", needle: "pl4ntBearer.8f3k-2jd9" },
  jwt: { text: "eyJwbGFudGVk.eyJzdWIiOiI3In0.pl4ntSig_88aa", needle: "pl4ntSig_88aa" },
  pem: {
    text: "-----BEGIN RSA PRIVATE KEY-----\npl4ntPemMIIEowIBAAKC\n-----END RSA PRIVATE KEY-----",
    needle: "pl4ntPemMIIEowIBAAKC",
  },
  token: { text: "ghp_pl4ntTokenAbCdEf0123456789", needle: "pl4ntTokenAbCdEf0123456789" },
  key: { text: "AKIAPLANTED4KEYID012", needle: "AKIAPLANTED4KEYID012" },
  userInfo: { text: "https://ann:pl4ntWord77@git.example/x.git", needle: "pl4ntWord77" },
  home: { text: `${HOME}/notes.txt`, needle: "plantedowner" },
  otherHome: { text: "/Users/plantedguest/x", needle: "plantedguest" },
  mail: { text: "planted.person@example.org", needle: "planted.person" },
  named: { text: NAMED.value, needle: NAMED.value },
}

/** What only a ceiling can hold back. Longer than any identifier, so that no shape lets it pass for one. */
export const CANARY: Plant = (() => {
  const text = Array.from({ length: 12 }, () => crypto.randomUUID().replaceAll("-", "")).join("Q")
  return { text, needle: text }
})()

const ALL = [...Object.values(SECRETS), CANARY]
/** Every plant in one text. */
export const TEXT = ALL.map(({ text }) => text).join("\n")
/** The same as a program would pass it on: JSON in JSON. */
const NESTED = JSON.stringify({ body: JSON.stringify({ note: TEXT, password: "pl4ntNested 66" }) })
/** Only a member's name tells that this is a secret. */
export const BY_NAME: Plant = { text: "pl4ntByName 55", needle: "pl4ntByName" }
const NESTED_NEEDLE = "pl4ntNested"

/** Needles that stand in no sink below `full`. */
export const SECRET_NEEDLES = [
  ...Object.values(SECRETS).map(({ needle }) => needle),
  BY_NAME.needle,
  NESTED_NEEDLE,
]

export const SESSION = "ses_leak"
const S = { sessionID: SESSION }
const bus = (type: string, properties: Record<string, unknown>): MomentBody => ({
  kind: "bus",
  event: { type, properties: { ...S, ...properties } },
})
const before = (tool: string, callID: string, args: unknown): MomentBody => ({
  kind: "tool.before",
  input: { tool, callID, ...S },
  output: { args },
})
const after = (tool: string, callID: string, output: unknown): MomentBody => ({
  kind: "tool.after",
  input: { tool, callID, ...S },
  output,
})
const part = (callID: string, tool: string, state: Record<string, unknown>): MomentBody =>
  bus("message.part.updated", { part: { type: "tool", messageID: "msg_2", callID, tool, state, ...S } })

/** Content in the places for content. */
const contents: MomentBody[] = [
  bus("session.created", {
    info: { id: SESSION, title: TEXT, directory: `${HOME}/${CANARY.text}`, version: "1.18.33", time: {} },
  }),
  {
    kind: "chat.message",
    input: S,
    output: { message: { id: "msg_1", role: "user" }, parts: [{ type: "text", text: TEXT }] },
  },
  bus("session.status", { status: { type: "busy" } }),
  before("bash", "call_1", { command: TEXT, deep: [{ note: TEXT }], nested: NESTED, password: BY_NAME.text }),
  bus("permission.asked", { id: "per_1", permission: "bash", title: TEXT, metadata: { filepath: TEXT } }),
  bus("permission.replied", { requestID: "per_1", reply: "once", message: TEXT }),
  after("bash", "call_1", { title: TEXT, output: TEXT, metadata: { preview: TEXT } }),
  before("wiki_search", "call_2", { [TEXT]: TEXT }),
  after("wiki_search", "call_2", { content: [{ type: "text", text: TEXT }, NESTED] }),
  before("read", "call_3", { filePath: TEXT }),
  part("call_3", "read", { status: "error", error: `Error: ${TEXT}`, input: { filePath: TEXT } }),
  bus("question.asked", {
    id: "que_1",
    questions: [
      { header: TEXT, question: TEXT, options: [{ label: TEXT, description: TEXT }, { label: "No" }] },
      { header: "H", question: "Q", options: [{ label: "A" }] },
    ],
  }),
  bus("question.replied", { requestID: "que_1", answers: [[TEXT], [TEXT]] }),
  bus("todo.updated", {
    todos: [
      { content: TEXT, status: "pending" },
      { content: "b", status: "completed" },
    ],
  }),
  bus("command.executed", { name: "review", arguments: TEXT, messageID: "msg_1" }),
  bus("session.status", { status: { type: "retry", attempt: 1, message: TEXT } }),
  bus("session.error", { error: { name: "APIError", data: { message: TEXT } } }),
  bus("file.edited", { file: TEXT }),
  bus("a.bus.type.nobody.knows", { anything: TEXT, deep: [TEXT] }),
  bus("session.updated", { info: { id: SESSION, title: TEXT } }),
]

/** The same words where an identifier belongs: one moment of each kind for each plant. */
function misplaced({ text }: Plant, index: number): MomentBody[] {
  const call = `${text}#${index}`
  const id = (kind: string) => `${kind} ${call}`
  return [
    before(text, `call_n${index}`, {}),
    after(text, `call_n${index}`, { output: "x" }),
    before("bash", call, {}),
    part(call, text, { status: "error", error: "x", input: { subagent_type: text } }),
    before("task", `call_t${index}`, { subagent_type: text }),
    part(`call_t${index}`, "task", {
      status: "running",
      input: { subagent_type: text },
      metadata: { sessionId: text },
    }),
    after("task", `call_t${index}`, { output: "x", metadata: { sessionId: text } }),
    part(id("stranger"), text, { status: "running", input: {} }),
    bus("permission.asked", { id: id("per"), permission: text, tool: { callID: call } }),
    bus("permission.replied", { requestID: id("per"), reply: text }),
    bus("permission.asked", { id: id("per2"), permission: "bash" }),
    bus("permission.replied", { requestID: id("unknown"), reply: text }),
    bus("question.asked", {
      id: id("que"),
      questions: [{ question: "q", options: [] }],
      tool: { callID: call },
    }),
    bus("question.rejected", { requestID: id("que") }),
    bus("todo.updated", { todos: [{ id: text, content: text, status: "pending" }] }),
    bus("todo.updated", { todos: [{ id: text, content: text, status: "completed" }] }),
    bus("command.executed", { name: text, arguments: text, messageID: text }),
    bus("session.status", { status: { type: text } }),
    bus("session.error", { error: { name: text, data: {} } }),
    bus("message.updated", {
      info: {
        id: id("msg"),
        role: "assistant",
        time: {},
        finish: text,
        modelID: text,
        error: { name: text },
        tokens: { input: 1, output: 1 },
      },
    }),
    bus("message.updated", { info: { id: id("user"), role: "user", time: {} } }),
    {
      kind: "chat.message",
      input: S,
      output: { message: { id: id("prompt"), role: "user" }, parts: [] },
    },
  ]
}

const ending: MomentBody[] = [
  bus("message.updated", {
    info: { id: "msg_2", role: "assistant", time: { completed: 2 }, finish: "stop" },
  }),
  bus("session.idle", {}),
  bus("session.deleted", { info: { id: SESSION, title: TEXT } }),
]

/** A session's moments with every plant in every place. */
export const MOMENTS: readonly MomentBody[] = [...contents, ...ALL.flatMap(misplaced), ...ending]

/** Bodies that the door refuses, in whole or in part, with content where the complaint might quote it. */
export const MALFORMED: readonly unknown[] = [
  TEXT,
  { instance: TEXT },
  {
    instance: { id: TEXT, agent: TEXT, directory: TEXT, mode: TEXT, plugin: TEXT },
    first: TEXT,
    moments: TEXT,
  },
]

/** Moments that are refused one by one. */
export const REFUSED: readonly unknown[] = [
  TEXT,
  { kind: TEXT },
  { kind: "bus", event: { type: 7, properties: TEXT } },
  { kind: "tool.before", input: { tool: TEXT.repeat(2), sessionID: 1, callID: [TEXT] }, output: TEXT },
]
