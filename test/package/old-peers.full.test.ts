/** The packed package installs beside older versions of its optional packages, and works with them or says what to install. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { MYSQL, POSTGRES, REDIS } from '../support/servers/engines.ts'
import { titleWith } from '../support/skipping.ts'
import { emptyProject, mustRun, pack, type EmptyProject } from './packed.ts'

const TIMEOUT = { timeout: 120_000 }
const OLD = {
  supertest: '6',
  fastify: '4',
  'fast-check': '3',
  pg: '8.11',
  mysql2: '3.9',
  ioredis: '4',
  redis: '4',
} as const

let project: EmptyProject

beforeAll(async () => {
  project = await emptyProject()
  const peers = Object.entries(OLD).map(([name, version]) => `${name}@${version}`)
  await project.install(await pack(project.folder), ...peers)
}, 300_000)

afterAll(() => project.remove())

const uses = (name: keyof typeof OLD, url = ''): Promise<string> =>
  mustRun(process.execPath, ['--no-deprecation', 'old-peers.mjs', name, url], project.folder)

test.each([
  ['supertest', 'm-1\n204\n'],
  ['fastify', '204\n405\nm-1\n'],
  ['fast-check', '1\n'],
] as const)('%s works', TIMEOUT, async (name, prints) => {
  expect((await uses(name)).split('\n').toSorted()).toEqual(prints.split('\n').toSorted())
})

for (const [name, engine] of [
  ['pg', POSTGRES],
  ['mysql2', MYSQL],
  ['ioredis', REDIS],
] as const) {
  const missing = engine.missing()
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

  test.skipIf(missing !== undefined)(titleWith(missing, `${name} ${OLD[name]} works`), TIMEOUT, async () => {
    const server = await engine.start()
    onTestFinished(() => server.remove())
    const printed = await uses(name, server.spec('old').url)
    expect(printed.split('\n').toSorted()).toEqual(['', '204', 'm-1'])
  })
}

test('a client of redis 4 is refused: the error names its version, and what to install', TIMEOUT, async () => {
  expect(await uses('redis')).toMatch(
    /^peer_unsupported: .*client is a client of redis 4; expected one of redis 5, or ioredis 4 or 5\. Run: npm install redis@5\. /,
  )
})
