/**
 * The service's doors in process, on a real home: the app as `main.ts` puts it together, without a port. Answers are
 * read whole, so that a test can look for what must not stand in them.
 */
import { type App, createApp } from "../../service/http/app.ts"
import { ownHosts } from "../../service/http/guard.ts"
import type { MomentBatch, Rejection } from "../../shared/moments.ts"
import { House, instanceOf } from "../house.ts"

export const CREDENTIAL = "c".repeat(64)
export const TOKEN = "t".repeat(43)
export const HOST = "127.0.0.1:8390"
export const MAX_BODY = 256 * 1024

export interface Answer {
  status: number
  text: string
  headers: Headers
  /** The body as JSON; absent when it is none. */
  body: Record<string, unknown> | undefined
}

export class Doors {
  readonly house = new House()
  readonly faults: string[] = []
  readonly app: App

  constructor(maxBody = MAX_BODY) {
    const { house } = this
    this.app = createApp({
      policy: {
        hosts: ownHosts("127.0.0.1", 8390, ["aep.example.org"]),
        origins: new Set(["https://console.example.org"]),
      },
      moments: {
        credential: Buffer.from(CREDENTIAL),
        maxBody,
        maxBatch: 10_000,
        apply: (shell) => house.intake.apply(shell),
      },
      health: {
        token: Buffer.from(TOKEN),
        health: () => ({
          ok: !house.ledger.degraded,
          relay: !house.ledger.degraded,
          counts: { version: "0", ...house.intake.population, ...house.intake.counts },
        }),
      },
      onFault: (where, error) =>
        this.faults.push(`${where} ${error instanceof Error ? error.message : "unknown"}`),
    })
  }

  /** Asks the app; Host is ours unless said otherwise. */
  async ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers)
    if (!headers.has("host")) headers.set("host", HOST)
    return readAnswer(await this.app.fetch(new Request(`http://${HOST}${path}`, { ...init, headers })))
  }

  /** Posts a body to the plugin's door, with credential and content type unless said otherwise. */
  post(body: BodyInit, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask("/opencode/moments", {
      method: "POST",
      headers: { authorization: `Bearer ${CREDENTIAL}`, "content-type": "application/json", ...headers },
      body,
    })
  }

  close(): void {
    this.house.remove()
  }
}

/** Reads an answer to its end. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  return { status: response.status, text, headers: response.headers, body: parse(text) }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    // An answer without a body, or one that is no JSON: the test says which it expected.
    return undefined
  }
}

/** A batch with nothing wrong in it. */
export function batch(moments: unknown[] = [], members: object = {}): MomentBatch {
  return { instance: instanceOf("i-1"), first: 0, moments: moments as MomentBatch["moments"], ...members }
}

/** A sound moment. */
export function sound(n: number, sessionID = "ses_1"): Record<string, unknown> {
  return { n, at: 1_796_000_000_000, kind: "bus", event: { type: "session.idle", properties: { sessionID } } }
}

/** The refusals that an answer names. */
export function rejections(answer: Answer): Rejection[] {
  return (answer.body?.rejected ?? []) as Rejection[]
}
