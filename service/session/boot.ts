/**
 * Which start of the operating system we are in. A changed id without a clean stop of the service means that the
 * last writes may never have reached the disk, so positions beyond the log's tail may have been seen by others.
 * Called once by `main.ts`; tests hand in ids of their own.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { uptime } from "node:os"

/** Clock and uptime are read at slightly different moments; a coarser grain keeps one boot one id. */
const GRAIN_MS = 10_000

/**
 * An id that stays the same until the machine restarts. Linux: the kernel's boot id; macOS: the boot session; else
 * the moment of start, from `nowMs` (epoch milliseconds) and the uptime. The last one may differ without a restart
 * (clock step); that costs an epoch and repeats no position, the wrong way round is not possible in practice.
 */
export function readBootId(nowMs: number, platform: NodeJS.Platform = process.platform): string {
  const kernel = platform === "linux" ? linuxBootId() : platform === "darwin" ? macBootId() : undefined
  return kernel ?? `start-${Math.round((nowMs - uptime() * 1000) / GRAIN_MS)}`
}

function linuxBootId(): string | undefined {
  try {
    return nonEmpty(readFileSync("/proc/sys/kernel/random/boot_id", "utf8"))
  } catch {
    // Some sandboxes hide /proc; the derived id is good enough.
    return undefined
  }
}

function macBootId(): string | undefined {
  try {
    const answer = execFileSync("sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8", timeout: 2000 })
    return nonEmpty(answer)
  } catch {
    // A missing or slow sysctl must not stop the service; the derived id is good enough.
    return undefined
  }
}

function nonEmpty(text: string): string | undefined {
  const id = text.trim()
  return id === "" ? undefined : id
}
