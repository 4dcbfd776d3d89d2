/** The recipe for Prisma: the package and Prisma are installed as by a user, and the writes of an event happen once. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from '../../docs/markdown.ts'
import { emptyProject, mustRun, pack, type EmptyProject } from '../package/packed.ts'
import { describePostgres, onServer, POSTGRES_URL, rowsOf } from '../stores/postgres/schema.ts'
import { runProgram } from '../support/program.ts'
import { RECEIVER, recipeWith, runOf, SERVER } from './recipe-app.ts'

const PRISMA = ['prisma', '@prisma/client', '@prisma/adapter-pg'].map((name) => `${name}@7.10.0`)
const NAME = `mw_prisma_${process.pid}`
const DATABASE_URL = Object.assign(new URL(POSTGRES_URL), { pathname: `/${NAME}` }).href

const SCHEMA = `
generator client {
  provider = "prisma-client"
  output   = "./generated/prisma"
}
datasource db {
  provider = "postgresql"
}
model Order {
  messageId  String @id
  deliveries Int    @default(0)
}
${recipeWith('HandledEvent', 'prisma')}`

const TABLES = `
CREATE TABLE "Order" ("messageId" text PRIMARY KEY, deliveries integer NOT NULL DEFAULT 0);
CREATE TABLE "HandledEvent" (id text PRIMARY KEY, at timestamp(3) NOT NULL DEFAULT now());
INSERT INTO "Order" VALUES ('m-1')`

const CLIENT = `
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/prisma/client.ts'
const prisma = new PrismaClient({ adapter: new PrismaPg(process.env.DATABASE_URL ?? '') })
`
/** Without its order, the first attempt fails; then the order is there. */
const LATE_ORDER = `
receiver.onError(async () => void (await prisma.order.createMany({ data: { messageId: 'm-2' }, skipDuplicates: true })))
`

async function rows(text: string): Promise<readonly object[]> {
  return onServer(async (client) => (await client.query<object>(text)).rows, DATABASE_URL)
}

const state = async (): Promise<unknown> => ({
  orders: await rows('SELECT * FROM "Order" ORDER BY 1'),
  handled: await rows('SELECT id FROM "HandledEvent" ORDER BY at'),
})

describePostgres('Prisma', () => {
  let project: EmptyProject

  beforeAll(async () => {
    await rowsOf(`CREATE DATABASE ${NAME}`)
    await rows(TABLES)
    project = await emptyProject()
    await project.install(await pack(project.folder), ...PRISMA)
    await writeFile(join(project.folder, 'schema.prisma'), SCHEMA)
    await writeFile(
      join(project.folder, 'app.ts'),
      `${CLIENT}${RECEIVER}${recipeWith('prisma.$transaction')}${LATE_ORDER}${SERVER}`,
    )
    await generate()
  }, 300_000)

  afterAll(async () => {
    await project.remove()
    await rowsOf(`DROP DATABASE ${NAME} WITH (FORCE)`)
  })

  async function generate(): Promise<void> {
    const cli = join(project.folder, 'node_modules/prisma/build/index.js')
    // It would download an engine that it does not use, unless it is told that there is one.
    const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
    const { code, stderr } = await runProgram(process.execPath, [cli, 'generate', '--schema', 'schema.prisma'], {
      cwd: project.folder,
      env,
    })
    expect(code, stderr).toBe(0)
  }

  test('the recipe compiles against the generated client', async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--target', 'es2023']
    const types = [
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--typeRoots',
      join(ROOT, 'node_modules/@types'),
      '--types',
      'node',
    ]
    await mustRun(process.execPath, [tsc, ...options, ...types, 'app.ts'], project.folder)
  })

  test('the writes of an event that runs again happen once, and those of a failed attempt not at all', async () => {
    const [id] = await runOf(project.folder, 'm-1', { DATABASE_URL })
    expect(await runOf(project.folder, 'm-1', { DATABASE_URL })).toEqual([id])
    expect(await state()).toEqual({ orders: [{ messageId: 'm-1', deliveries: 1 }], handled: [{ id }] })

    const [second] = await runOf(
      project.folder,
      'm-2',
      { DATABASE_URL },
      { until: () => expect.poll(state).toMatchObject({ handled: [{}, {}] }) },
    )
    expect(await state()).toEqual({
      orders: [
        { messageId: 'm-1', deliveries: 1 },
        { messageId: 'm-2', deliveries: 1 },
      ],
      handled: [{ id }, { id: second }],
    })
  })
})
