import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

const HOUSE = [
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
  { selector: 'TSNonNullExpression', message: 'Check for undefined instead.' },
]

/** Files with `Sql` or `Statement`. */
const WITH_SQL = 'Program:has(ImportDeclaration[source.value=/(^|\\W)(sql|dialect)\\.ts$/])'

/** Only the tag of `sql.ts` makes SQL. The compiler would let an assertion, a type predicate or a call of the tag make it too. */
const SQL = [
  {
    selector: `${WITH_SQL} :matches(TSAsExpression, TSTypeAssertion)[typeAnnotation.typeName.name!=const]`,
    message: 'A file with SQL asserts no types: write SQL with the tag sql.',
  },
  {
    selector: `${WITH_SQL} TSTypePredicate TSTypeReference[typeName.name=/^(Sql|Statement)$/]`,
    message: 'Write SQL with the tag sql.',
  },
  {
    selector: `${WITH_SQL} CallExpression[callee.name=sql]`,
    message: 'Write SQL as a template, and bind its values.',
  },
]

/** The drivers accept any text, so that one file for each calls them, with a type that admits only SQL. */
const NO_DRIVER = [
  {
    selector: 'ImportExpression[source.value="node:sqlite"], ImportSpecifier[imported.name=DatabaseSync]',
    message: 'Use connect() of src/sqlite/connection.ts, which accepts only SQL.',
  },
]
const NO_DRIVER_CALL = [
  ...NO_DRIVER,
  {
    selector:
      'CallExpression[callee.property.name=/^(query|execute|prepare)$/], MemberExpression[object.property.name=/^(query|execute|prepare)$/][property.name=/^(call|apply|bind)$/]',
    message: 'Run statements by query.ts of the store, which accepts only SQL.',
  },
]

export default defineConfig(
  {
    ignores: [
      'dist/',
      'coverage/',
      'docs/.vitepress/{dist,cache}/',
      'test/package/consumers/',
      'test/docs/example-*/',
      'examples/nest/',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.page.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      'no-restricted-syntax': ['error', ...HOUSE],
      // Numbers in messages are what messages are for.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `{}` is how "nothing is added" is said in types.
      '@typescript-eslint/no-empty-object-type': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      // Our objects are closures; nothing of ours uses `this`.
      '@typescript-eslint/unbound-method': 'off',
      // `_` is what is left out on purpose.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_$' }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/runtime/clock.ts', 'src/inspector/page/data.ts', 'src/testing/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'setImmediate', 'performance'].map((name) => ({
          name,
          message: 'Only clock.ts sets timers and asks for the time.',
        })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Only clock.ts asks for the time.' },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/runtime/sql.ts'],
    rules: { 'no-restricted-syntax': ['error', ...HOUSE, ...SQL, ...NO_DRIVER_CALL] },
  },
  {
    // What these prepare is on a `Connection`, which accepts only SQL.
    files: ['src/{sqlite,stores/sqlite,local-file}/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...HOUSE, ...SQL, ...NO_DRIVER] },
  },
  {
    files: ['src/stores/{postgres,mysql}/query.ts', 'src/sqlite/connection.ts'],
    rules: { 'no-restricted-syntax': ['error', ...HOUSE, ...SQL] },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/sqlite/connection.ts', 'src/stores/{postgres,mysql}/migrations.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '\\bsql\\.ts$',
              importNames: ['wholeNumber'],
              message: 'Bind the number, or write it as a constant.',
            },
          ],
        },
      ],
    },
  },
  {
    // What a sender wrote becomes a text node and nothing else.
    files: ['src/inspector/page/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...HOUSE,
        ...SQL,
        ...NO_DRIVER_CALL,
        {
          selector:
            ':matches(MemberExpression, Property)[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc|dangerouslySetInnerHTML)$/], MemberExpression[object.name=document][property.name=/^write/]',
          message: 'Text becomes a text node: use h().',
        },
        { selector: 'Identifier[name=/^(process|Buffer|global)$/]', message: 'The page runs in a browser.' },
      ],
    },
  },
  { files: ['*.config.ts', 'docs/.vitepress/**/*.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'docs/**/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'error', '@typescript-eslint/require-await': 'off' },
  },
)
