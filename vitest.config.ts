import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

/** The pipeline's folders, each of which must be covered by itself. */
const PIPELINE = ['http', 'authenticity', 'payloads', 'statuses', 'inbox', 'dispatch']

export default defineConfig({
  resolve: {
    alias: [
      { find: /^messaging-webhooks$/, replacement: source('index.ts') },
      { find: /^messaging-webhooks\/store-conformance$/, replacement: source('store-conformance/index.ts') },
      { find: /^messaging-webhooks\/postgres$/, replacement: source('stores/postgres/store.ts') },
      { find: /^messaging-webhooks\/redis$/, replacement: source('stores/redis/store.ts') },
      { find: /^messaging-webhooks\/sqlite$/, replacement: source('stores/sqlite/store.ts') },
      { find: /^messaging-webhooks\/emulator$/, replacement: source('emulator/index.ts') },
      { find: /^messaging-webhooks\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
    // A test that hangs is ended; a machine that is slow, or shared, has its time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
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
