/** What `bun run service --help` says. */
export const SERVICE_HELP = `opencode-aep service: turns what your OpenCode sessions do into a durable event record

Usage:
  bun run service [--home <folder>] [--host <address>] [--port <number>]

Options (each overrides its environment variable):
  --home <folder>   AEP_HOME            state and logs, absolute path   (default ~/.aep)
  --host <address>  AEP_OPENCODE_HOST   127.0.0.1, localhost or ::1     (default 127.0.0.1)
  --port <number>   AEP_OPENCODE_PORT   where to listen                 (default 8390)
  --version         print the version
  -h, --help        print this

Also read from the environment:
  AEP_TOKEN, AEP_OPENCODE_KEY           secrets of your own instead of those kept in the home
  AEP_PUBLIC_URL, AEP_ALLOWED_ORIGINS   further names under which this service is reached
  AEP_CAPTURE                           none, metadata, redacted or full: the most an event tells
                                        (default metadata, and redacted for asks)
  AEP_CAPTURE_<CATEGORY>                the same for one category: AGENT, SESSION, RUN, PROGRESS, TOOL,
                                        DELEGATION, ATTENTION, RESOURCE, ERROR, STATE, ASSESSMENT,
                                        MESSAGE, CONTROL, or X for the agent's own events
  AEP_REDACT_NAMES                      variables whose values are secret, separated by commas
  AEP_REDACT_PII                        off leaves e-mail addresses and phone numbers (default on)
  AEP_AUTH                              all, or control: who reaches the service on this machine may watch
                                        and emit without the token, never control (default all)
  AEP_ASK_TIMEOUT_MS                    how long an ask can be answered from elsewhere (1800000)
  AEP_ATTENTION_TIMEOUT_MS              the same where the agent's own dialog waits for it (55000)
  AEP_RELAY_URL, AEP_RELAY_TOKEN        a relay to forward events to, like https://relay.example.org
  AEP_BUFFER, AEP_MAX_SESSIONS          kept for replay: events a session (10000), sessions (500)
  AEP_MAX_FROM                          most positions a reader may resume from (as many as sessions)
  AEP_MAX_BODY, AEP_MAX_BATCH           largest request: bytes (16 MiB), moments or events (10000)

Example:
  bun run service --port 8391 --home "$HOME/aep-work"

Stop it with ctrl+c, or: kill $(cat ~/.aep/service.pid)
`
