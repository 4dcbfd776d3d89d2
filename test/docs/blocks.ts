/** The code on the pages, as sources for the compiler. */
import { PAGES, readPage } from '../../docs/markdown.ts'

/** Each block of TypeScript on the pages. */
export const BLOCKS = PAGES.flatMap((page) =>
  readPage(page)
    .blocks.filter(({ language }) => language === 'ts')
    .map((block) => ({ page, ...block })),
)

/** The names that a continuing block may use without an import. */
export const AMBIENT = `
import type { Server } from 'node:http'
import type expressModule from 'express'
import type { Receiver } from 'messaging-webhooks'
import type { Client } from 'messaging-webhooks/client'
interface PrismaTransaction {
  handledEvent: { createMany(query: { data: { id: string }; skipDuplicates: boolean }): Promise<{ count: number }> }
  order: { update(query: { where: { messageId: string }; data: { deliveries: { increment: number } } }): Promise<object> }
}
declare global {
  namespace NodeJS {
    interface ProcessEnv {
      readonly NEXT_RUNTIME?: 'nodejs' | 'edge'
    }
  }
  const prisma: { $transaction(work: (tx: PrismaTransaction) => Promise<void>): Promise<void> }
  const express: typeof expressModule
  const app: ReturnType<typeof expressModule>
  const server: Server
  const receiver: Receiver
  const client: Client
  const markDelivered: (messageId: string, at: Date) => Promise<void>
  const sendAgain: (messageId: string, how: { signal: AbortSignal; attempt: number }) => Promise<void>
  const bookPayment: (id: string, amount: number) => Promise<void>
}
`

/** The modules that a block imports by an alias of the app's compiler. */
export const ALIASED = `
declare module '@/app/receiver' {
  export const receiver: import('messaging-webhooks').Receiver
}
`

/** The blocks as files. Blank lines align the compiler's line numbers with the page's. */
export const SOURCES = new Map(
  BLOCKS.map(({ page, code, line }) => [
    `${page.replaceAll('/', '_')}-line-${line}.ts`,
    `${'\n'.repeat(line - 1)}${code}export {}\n`,
  ]),
)
