/** What the service says about itself on stderr and at `/healthz`, as text: never content. */

/** What was found at start that people should know, a line each. */
export function reportLines(report: {
  lostTails: number
  movedAside?: string
  distrust: boolean
  bytesCut: number
}): string[] {
  const lines: string[] = []
  if (report.movedAside !== undefined)
    lines.push(`the database was damaged; it was rebuilt from the logs and kept as ${report.movedAside}`)
  if (report.lostTails > 0)
    lines.push(
      `${report.lostTails} log(s) lost lines that were written before; their sessions go on in a new epoch`,
    )
  if (report.bytesCut > 0) lines.push(`${report.bytesCut} byte(s) of unfinished lines were cut from the logs`)
  if (report.distrust) lines.push("the machine went down without a clean stop; sessions go on in a new epoch")
  return lines
}

/** What is out of order, as members of the health answer. */
export function faultsOf(health: { log?: { code: string }; store?: string }): Record<string, string> {
  return {
    ...(health.log === undefined ? {} : { log_fault: health.log.code }),
    ...(health.store === undefined ? {} : { store_fault: health.store }),
  }
}

/** Names only: messages of the runtime can quote what was being worked on. */
export function errorName(error: unknown): string {
  return error instanceof Error
    ? `${error.name} at ${(error.stack ?? "").split("\n")[1]?.trim().slice(0, 160) ?? "?"}`
    : "unknown"
}
