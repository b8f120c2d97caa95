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

/** The process's own streams. To be called once. */
export function processOutput(): Output {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
      process.exit(EXIT_BROKEN_PIPE)
    })
  }
  return {
    say: async (line) => {
      if (process.stdout.write(`${line}\n`)) return
      await new Promise<void>((resolve) => void process.stdout.once("drain", () => resolve()))
    },
    complain: (line) => void process.stderr.write(`opencode-aep: ${line}\n`),
  }
}
