/** Starts, queries and stops the app of programs/traced-app.ts for tests. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface TracedAppSettings {
  readonly path: string
  readonly dispatch: boolean
  /** Whether its handlers fail at first. */
  readonly fails: boolean
  readonly authKey: string
}

export interface AppSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly links: readonly (readonly [traceId: string, spanId: string, traceState: string | undefined])[]
  readonly errorType: string | undefined
}

/** Starts it, and ends it after the test unless the test has. */
export async function startTracedApp(settings: TracedAppSettings) {
  const child = fork(join(import.meta.dirname, 'programs', 'traced-app.ts'), [JSON.stringify(settings)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  const [{ address }] = (await once(child, 'message')) as [{ readonly address: { readonly port: number } }]

  return {
    url: `http://127.0.0.1:${address.port}/webhooks/status`,
    kill,
    /** All ended spans, once everything due has been dispatched. */
    async spans(): Promise<readonly AppSpan[]> {
      child.send('spans')
      const [{ spans }] = (await once(child, 'message')) as [{ readonly spans: readonly AppSpan[] }]
      return spans
    },
  }
}
