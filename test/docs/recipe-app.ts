/** A recipe as the page has it, in an app that receives callbacks; and events that run again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { ROOT } from '../../docs/markdown.ts'
import { freePort } from '../support/free-port.ts'
import { blockOf, report, startApp } from './production-app.ts'

const PAGE = 'docs/guides/recipes.md'

/** The page's only block with this text. */
export function recipeWith(text: string, language = 'ts'): string {
  return blockOf(PAGE, language, text)
}

/** For a recipe that continues an app: its events are in memory, so that a new process runs them again. */
export const RECEIVER = `
import { createReceiver } from 'messaging-webhooks'
const receiver = createReceiver({
  credentials: { authKey: process.env.AUTH_KEY, signingSecret: process.env.SIGNING_SECRET },
  retry: { initialDelayMs: 100 },
  logger: false,
})
`
/** The end of each app: the id of an event is printed after the handler of the recipe. */
export const SERVER = `
import { createServer } from 'node:http'
receiver.on('message.delivered', ({ id }) => console.log(id))
createServer(receiver.middleware('status')).listen(process.env.PORT)
await receiver.start()
`

/** A folder in which the package resolves to its build. */
export async function exampleFolder(): Promise<string> {
  const folder = await mkdtemp(join(ROOT, 'test/docs/example-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

export async function writtenApp(code: string): Promise<string> {
  const folder = await exampleFolder()
  await writeFile(join(folder, 'app.ts'), code)
  return folder
}

const timestamp = Math.floor(Date.now() / 1_000)

/**
 * Starts the app, sends it the delivery report of a message, the same one each time, and kills it once it has printed so many
 * lines, and `until` resolves. Returns the lines.
 */
export async function runOf(
  folder: string,
  messageId: string,
  env: NodeJS.ProcessEnv,
  { lines = 1, until }: { readonly lines?: number; readonly until?: () => PromiseLike<void> } = {},
): Promise<readonly string[]> {
  const app = await startApp(folder, await freePort(), env)
  expect(await report(app.url, messageId, { timestamp })).toBe(204)
  await expect.poll(app.lines, { timeout: 60_000 }).toHaveLength(lines)
  await until?.()
  app.child.kill('SIGKILL')
  await app.ended
  return app.lines()
}
