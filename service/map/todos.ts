/**
 * Todo lists arrive as whole snapshots; the record speaks of transitions (AEP-0002 A.7, the `todos` block of the
 * mapping fixtures). Pure: the previous snapshot comes in, drafts and the next snapshot go out.
 */
import type { Draft } from "./draft.ts"
import { identifierOf } from "./identifier.ts"
import { listOf, objectOf, textOf } from "./members.ts"

export interface Todo {
  id: string
  /** Digest of the content; the only trace of it that is remembered. */
  key: string
  completed: boolean
}

/** The model chooses these ids on OpenCode 1.0: a longer one is more than an id. */
const MAX_ID = 64

export interface TodoItem {
  id: string | undefined
  content: string
  completed: boolean
}

/** The items of a `todo.updated` payload; entries that are no objects are left out. */
export function readTodos(value: unknown): TodoItem[] {
  return listOf(value).flatMap((entry) => {
    if (entry === null || typeof entry !== "object") return []
    const todo = objectOf(entry)
    return [
      {
        id: identifierOf(todo.id, MAX_ID),
        content: textOf(todo.content) ?? "",
        completed: todo.status === "completed",
      },
    ]
  })
}

/**
 * D-02 The annex keys its diff by the todo's id, but OpenCode 1.18 and Kilo 7.7 send none (surface.md §4). An item
 * without one takes the id of the remembered item with the same content, each used once; else `t{n}`, counted
 * up for the life of the session so that an id never comes back for another task.
 */
export function identifyTodos(
  previous: readonly Todo[],
  items: readonly TodoItem[],
  counter: number,
  digest: (content: string) => string,
): { todos: Todo[]; counter: number } {
  const free = previous.slice()
  const taken = new Set([...previous, ...items].map(({ id }) => id))
  let last = counter
  const todos = items.map((item): Todo => {
    const key = digest(item.content)
    if (item.id !== undefined) return { id: item.id, key, completed: item.completed }
    const match = free.findIndex((known) => known.key === key)
    if (match >= 0) {
      const [known] = free.splice(match, 1)
      if (known !== undefined) return { id: known.id, key, completed: item.completed }
    }
    do last += 1
    while (taken.has(`t${last}`))
    return { id: `t${last}`, key, completed: item.completed }
  })
  return { todos, counter: last }
}

/** New ids are planned, transitions to completed are completed; everything else stays silent. */
export function diffTodos(
  previous: readonly Todo[],
  next: readonly Todo[],
  titleOf: (id: string) => string | undefined,
): Draft[] {
  const before = new Map(previous.map((todo) => [todo.id, todo]))
  const drafts: Draft[] = []
  const seen = new Set<string>()
  for (const todo of next) {
    if (seen.has(todo.id)) continue
    seen.add(todo.id)
    const known = before.get(todo.id)
    if (known === undefined) drafts.push(taskDraft("progress.task.planned", todo.id, titleOf(todo.id)))
    if (todo.completed && known?.completed !== true) {
      drafts.push(taskDraft("progress.task.completed", todo.id, titleOf(todo.id)))
    }
  }
  return drafts
}

/** The title is content (redacted); the id stands in the subject, as the fixtures pin it. */
function taskDraft(type: string, id: string, title: string | undefined): Draft {
  return { type, subject: id, data: title === undefined ? {} : { task: { title } } }
}
