/** Runs a test on each engine available here; all engines at once, because the tests mostly wait. */
import { test, type TestContext } from 'vitest'
import { MYSQL, POSTGRES, REDIS, SQLITE, type EngineServer } from '../../support/servers/engines.ts'

const ENGINES = { sqlite: SQLITE, postgres: POSTGRES, mysql: MYSQL, redis: REDIS } as const
const TIMEOUT_MS = 300_000

export type EngineName = keyof typeof ENGINES

interface OnEngine {
  readonly engine: EngineName
  /** A server for this test alone, so that the test may stop it. */
  readonly server: EngineServer
  readonly context: TestContext
}

/** Skips the test with a reason if an engine is missing; with `CI=true` the test fails instead. */
export function onEachEngine(
  engines: readonly EngineName[],
  title: string,
  work: (on: OnEngine) => Promise<void>,
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
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
