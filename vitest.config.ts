import { fileURLToPath } from 'node:url'
import { defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'
import { SlowFirst } from './test/slow-first.ts'
import { unseenTests } from './test/unseen-tests.ts'

/**
 * Every process and thread that a test starts strips the TypeScript of what it runs, and there are hundreds of them: kept,
 * it is done once. Coverage would be less exact with it.
 */
if (!process.argv.includes('--coverage'))
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('./node_modules/.cache/node', import.meta.url))

/** A file for the counts of a run. */
const RESULTS = process.env['TEST_RESULTS']

/** The pipeline's folders, each of which must be covered by itself. */
const PIPELINE = ['http', 'verify', 'carriers', 'messages', 'inbox', 'dispatch']

/** Those of Vitest. `module` is for bundlers: Node.js cannot load such files of other packages. */
const CONDITIONS = defaultServerConditions.filter((condition) => condition !== 'module')

export default defineConfig({
  // The package's own name resolves to its sources, as for the compiler.
  ssr: { resolve: { conditions: ['@messaging-webhooks/source', ...CONDITIONS] } },
  test: {
    // `npm test` runs what is quick, `npm run test:full` the rest: kills, cluster, floods, soaks, damage at every place.
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.full.test.ts'],
          // A process for each of two hundred files would cost as much as what they test.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'full',
          include: ['test/**/*.full.test.ts'],
        },
      },
    ],
    reporters: ['default', unseenTests, ...(RESULTS === undefined ? [] : ['json'])],
    ...(RESULTS === undefined ? {} : { outputFile: { json: RESULTS } }),
    sequence: { sequencer: SlowFirst },
    // What a passing test makes the receiver say is no news.
    silent: 'passed-only',
    // A test that hangs is ended; a machine that is slow, or shared, has its time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    // Most tests wait more than they compute: three keep two cores busy.
    maxWorkers: 3,
    // Each of SQLite's threads has its TypeScript stripped by WebAssembly, which V8 shares between threads; it crashed now and
    // then as it freed code of it (SIGSEGV in `FreeDeadCode`). The published package is JavaScript and needs none of this.
    execArgv: ['--no-wasm-code-gc', '--no-wasm-native-module-cache'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text', 'json-summary'],
      thresholds: Object.fromEntries(
        PIPELINE.map((stage) => [`src/${stage}/**`, { lines: 95, branches: 95 }] as const),
      ),
    },
  },
})
