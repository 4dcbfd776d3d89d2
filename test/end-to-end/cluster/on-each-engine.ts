/** One test on each engine that can be had here; all of them at once, for they mostly wait. */
import { test, type TestContext } from 'vitest'
import { MYSQL, POSTGRES, REDIS, SQLITE, type EngineServer } from '../../support/servers/engines.ts'

const ENGINES = { sqlite: SQLITE, postgres: POSTGRES, mysql: MYSQL, redis: REDIS } as const
const PATIENT_MS = 300_000

export type EngineName = keyof typeof ENGINES

interface OnEngine {
  readonly engine: EngineName
  /** Of this test alone, so that it may be stopped. */
  readonly server: EngineServer
  readonly context: TestContext
}

/** Where an engine is missing its test is skipped and says why; with `CI=true` it fails. */
export function onEachEngine(
  engines: readonly EngineName[],
  title: string,
  work: (on: OnEngine) => Promise<void>,
  { timeoutMs = PATIENT_MS }: { readonly timeoutMs?: number } = {},
): void {
  for (const name of engines) {
    const engine = ENGINES[name]
    const missing = engine.missing()
    if (missing !== undefined && process.env['CI'] !== 'true') {
      test.skip(`${name}: ${title} (${missing})`)
      continue
    }
    test.concurrent(`${name}: ${title}`, { timeout: timeoutMs }, async (context) => {
      const server = await engine.start()
      context.onTestFinished(server.remove)
      await work({ server, engine: name, context })
    })
  }
}
