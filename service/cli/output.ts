/**
 * The two streams a command speaks on, and what happens when nobody listens any more. A closed pipe (`| head`) ends the
 * process quietly, as a signal would end it: with 141, so that a verdict nobody heard is never taken for a yes.
 */

/** How a command speaks. */
export interface Output {
  /** One line of the result. Resolves when more may be written, so that a slow reader costs no memory. */
  say: (line: string) => Promise<void>
  /** One line about what hinders, and what to do next. */
  complain: (line: string) => void
}

/** What a shell shows for a process that SIGPIPE ended. */
export const EXIT_BROKEN_PIPE = 141
const EXIT_UNWRITABLE = 2

/** The process's own streams. To be called once. */
export function processOutput(): Output {
  process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit(EXIT_BROKEN_PIPE)
    process.stderr.write(`opencode-aep: cannot write the result: the system says ${code ?? "nothing"}\n`)
    process.exit(EXIT_UNWRITABLE)
  })
  // Without its complaints a command still gives its result and its exit code.
  process.stderr.on("error", () => undefined)
  return {
    say: async (line) => {
      if (process.stdout.write(`${line}\n`)) return
      await new Promise<void>((resolve) => void process.stdout.once("drain", () => resolve()))
    },
    complain: (line) => void process.stderr.write(`opencode-aep: ${line}\n`),
  }
}
