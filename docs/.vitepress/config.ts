/** The site of the documentation: `npm run docs` serves it, `npm run docs:build` builds it. Both write `api/` first. */
import { copyFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { defineConfig, type DefaultTheme } from 'vitepress'

const OPENAPI_FILE = 'openapi.json'
const REPOSITORY = 'https://github.com/messaging-webhooks/messaging-webhooks'
/** The package has the pages without the pictures, so that pages name these in full. */
const PICTURES = `${REPOSITORY}/raw/main/docs/`

const GUIDES: DefaultTheme.SidebarItem[] = [
  { text: 'Getting started', link: '/guides/getting-started' },
  {
    text: 'Mounting',
    link: '/guides/mounting',
    items: [
      { text: 'Fetch: Hono, Next.js, Bun …', link: '/guides/fetch' },
      { text: 'NestJS', link: '/guides/nest' },
      { text: 'Fastify', link: '/guides/fastify' },
      { text: 'AWS Lambda', link: '/guides/lambda' },
    ],
  },
  { text: 'Handlers', link: '/guides/handlers' },
  { text: 'Recipes', link: '/guides/recipes' },
  { text: 'Projects and rotation', link: '/guides/projects' },
  { text: 'Your own payloads', link: '/guides/payloads' },
  { text: 'Duplicates and message order', link: '/guides/once-and-order' },
  { text: 'Security', link: '/guides/security' },
  { text: 'Quarantine', link: '/guides/quarantine' },
  { text: 'Erasure', link: '/guides/erasure' },
  {
    text: 'Choosing a store',
    link: '/guides/stores',
    items: [
      { text: 'Memory', link: '/guides/store-memory' },
      { text: 'SQLite', link: '/guides/store-sqlite' },
      { text: 'Postgres', link: '/guides/store-postgres' },
      { text: 'MySQL', link: '/guides/store-mysql' },
      { text: 'Redis', link: '/guides/store-redis' },
      { text: 'Your own', link: '/guides/store-of-your-own' },
      { text: 'From SQLite to Postgres', link: '/guides/sqlite-to-postgres' },
    ],
  },
  { text: 'The spool', link: '/guides/spool' },
  { text: 'Production checklist', link: '/guides/production' },
  {
    text: 'Deploying',
    link: '/guides/deploying',
    items: [{ text: 'Containers and proxies', link: '/guides/containers' }],
  },
  { text: 'Capacity', link: '/guides/capacity' },
  { text: 'Observing', link: '/guides/observing', items: [{ text: 'OpenTelemetry', link: '/guides/opentelemetry' }] },
  { text: 'The inspector', link: '/guides/inspector' },
  { text: 'The doctor', link: '/guides/doctor' },
  { text: 'Troubleshooting', link: '/guides/troubleshooting' },
  {
    text: 'Sending',
    link: '/guides/sending',
    items: [
      { text: 'Attaching what you sent', link: '/guides/sends-attached' },
      { text: 'What events tell you', link: '/guides/sends-events' },
      { text: 'Sending again', link: '/guides/sends-again' },
      { text: 'A client of your own', link: '/guides/sends-own-client' },
    ],
  },
  { text: 'Testing your handlers', link: '/guides/testing' },
  { text: 'The emulator', link: '/guides/emulator' },
  { text: 'Conformance vectors', link: '/guides/vectors' },
  { text: 'Upgrading', link: '/guides/upgrading' },
]

const REFERENCE: DefaultTheme.SidebarItem[] = [
  { text: 'The receiver', link: '/reference/receiver' },
  { text: 'Options', link: '/reference/options' },
  { text: 'Events', link: '/reference/events' },
  { text: 'Statuses', link: '/reference/statuses' },
  { text: 'Answers', link: '/reference/answers' },
  { text: 'Errors', link: '/reference/errors' },
  { text: 'Log lines', link: '/reference/log' },
  { text: 'Counts', link: '/reference/counts' },
  { text: 'Command line', link: '/reference/command-line' },
  { text: 'Client', link: '/reference/client' },
  { text: 'Emulator', link: '/reference/emulator' },
  { text: 'OpenAPI', link: '/reference/openapi' },
  { text: 'SQL of the Postgres store', link: '/reference/sql' },
  { text: 'Runtimes', link: '/reference/runtimes' },
  { text: 'API', link: '/api/' },
]

const BEHIND: DefaultTheme.SidebarItem[] = [
  { text: 'The sender’s rules', link: '/service' },
  { text: 'Hazards', link: '/hazards' },
  { text: 'Architecture', link: '/architecture' },
  { text: 'Decisions', link: '/decisions' },
]

// VitePress loads its configuration by its default export.
export default defineConfig({
  title: 'messaging-webhooks',
  description: 'The receiving end of a messaging service’s callbacks',
  lang: 'en',
  // No icon, and no request for one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcExclude: ['.vitepress/**'],
  // Tools load the document from the site.
  buildEnd: ({ srcDir, outDir }) => copyFileSync(join(srcDir, OPENAPI_FILE), join(outDir, OPENAPI_FILE)),
  rewrites: { 'README.md': 'index.md', 'api/README.md': 'api/index.md' },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      // A page may lead to files of the repository that the site does not have.
      md.core.ruler.push(
        'repository-links',
        ({ tokens, env }: { tokens: MarkdownToken[]; env: { relativePath: string } }) => {
          const depth = env.relativePath.split('/').length
          const outside = '../'.repeat(depth)
          for (const { children } of tokens)
            for (const child of children ?? []) {
              const picture = child.type === 'image' ? child.attrGet('src') : null
              if (picture?.startsWith(PICTURES) === true)
                child.attrSet('src', posix.relative(posix.dirname(env.relativePath), picture.slice(PICTURES.length)))
              const href = child.type === 'link_open' ? child.attrGet('href') : null
              if (href?.startsWith(outside) === true)
                child.attrSet('href', `${REPOSITORY}/blob/main/${href.slice(outside.length)}`)
            }
        },
      )
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Guides', link: '/guides/getting-started' },
      { text: 'Reference', link: '/reference/options' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: [
      { text: 'Guides', items: GUIDES },
      { text: 'Reference', items: REFERENCE },
      { text: 'Behind it', items: BEHIND },
    ],
    outline: { level: [2, 3] },
  },
})

interface MarkdownToken {
  readonly type: string
  readonly children: readonly MarkdownToken[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}
