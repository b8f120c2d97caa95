/**
 * Who speaks for which session, told by the intake to whoever routes commands. The roster behind it is the hub's
 * (`hub/own-sessions.ts`); `main.ts` puts the two together.
 */

/** `hold`: the instance speaks for the session from now on. `free`: it no longer does. `freeAll`: it is gone. */
export interface Claims {
  hold: (session: string, speaker: { id: string; agent: string }) => void
  free: (session: string, instance: string) => void
  freeAll: (instance: string) => void
}

/** Nobody is told. */
export const NO_CLAIMS: Claims = { hold: () => undefined, free: () => undefined, freeAll: () => undefined }
