// What the page says, a key in a line: English / Spanish; those of a group are called `group.key`.
// `{name}` is filled in; of `one|many` it is said what fits `n`.

export const LANGUAGES = ['en', 'es'];

export const WORDS = `
allowAlways: Always allow / Permitir siempre
allowOnce: Allow once / Permitir una vez
allowSession: Allow in this session / Permitir en esta sesión
answer: Answer / Responder
budget: {spent} of {limit} spent / {spent} de {limit} gastados
cancel: Cancel / Cancelar
close: Close / Cerrar
code: Code / Código
deny: Deny / Denegar
denyReason: Deny with this reason / Denegar con este motivo
diff: diff / diferencias
export: Export {format} / Exportar {format}
fold: show less / mostrar menos
fork: Fork / Bifurcar
from: From / De
help: Keys / Teclas
kind: Kind / Clase
loading: Loading… / Cargando…
more: Show more / Mostrar más
nobody: nobody / nadie
plan: Plan / Plan
retry: Try again / Reintentar
showAll: show all {n} lines / mostrar las {n} líneas
since: Since / Desde hace
skip: Skip to the content / Saltar al contenido
state: State / Estado
stop: Stop / Detener
time: Time / Hora
to: To / A
tokens: {n} tokens / {n} tokens
why: Why nothing moves / Por qué nada avanza
you: you / tú
call
 command: whole command / orden completa
 exit: exit {code} / salida {code}
 output: Output of the call / Salida de la llamada
 runs: running / en curso
card
 calls: Running / En curso
 changeModel: Change model… / Cambiar modelo…
 cost: Cost / Coste
 fresh: fresh / nuevos
 noTurn: none yet / ninguno todavía
 output: output / salida
 read: cache read / caché leída
 role: Role / Papel
 tokens: Tokens / Tokens
 unread: Unread / Sin leer
 waits: Waits for / Espera a
 window: Window / Ventana
 windowExact: {used} of {all} tokens / {used} de {all} tokens
 written: cache written / caché escrita
changes
 by.agent: Agent / Agente
 by.call: Call / Llamada
 by.turn: Turn / Turno
 by: Group by / Agrupar por
 empty: No file has been changed in this session. / No se ha cambiado ningún archivo en esta sesión.
 files: {n} file|{n} files / {n} archivo|{n} archivos
 noDiff: The log can't tell what this call made of the file. / El registro no dice qué hizo esta llamada con el archivo.
 turn: turn {n} / turno {n}
 undo: an undo / deshace
 undone: undone / deshecho
check
 error: Error / Error
 ok: Fine / Bien
 warning: Warning / Aviso
code
 of: Code, {language} / Código, {language}
composer
 busy: Steer the team… / Orienta al equipo…
 everyone: to the team / al equipo
 hint: Enter sends, Ctrl+Enter queues, Shift+Enter is a new line / Intro envía, Ctrl+Intro pone en cola, Mayús+Intro es una línea nueva
 idle: Say what is to be done… / Di qué hay que hacer…
 label: Your message / Tu mensaje
 queue: Queue / Poner en cola
 send: Send / Enviar
 steer: Steer / Orientar
 to: Send to / Enviar a
config
 show: {n} key in force|{n} keys in force / {n} clave en vigor|{n} claves en vigor
 title: Configuration / Configuración
conn
 ended: This session was closed. What is shown stays; a message opens it again. / Esta sesión se cerró. Lo mostrado se conserva; un mensaje la abre de nuevo.
 lost: No connection for {span}. What is shown can still be read; it goes on by itself. / Sin conexión desde hace {span}. Lo mostrado se puede leer; seguirá por sí sola.
conv
 all: All / Todos
 begin: Here it begins. / Aquí empieza.
 edit: Edit and go on from here / Editar y seguir desde aquí
 editHint: Everyone forgets what came after this message. Files stay as they are. / Todos olvidan lo que vino después de este mensaje. Los archivos quedan como están.
 empty: Nothing has been said yet. Say what is to be done. / Aún no se ha dicho nada. Di qué hay que hacer.
 filter: Show one agent / Mostrar un agente
 find: Find in this session / Buscar en esta sesión
 goOn: Go on from here / Seguir desde aquí
 images: {n} picture attached|{n} pictures attached / {n} imagen adjunta|{n} imágenes adjuntas
 none: Nothing here matches. / Nada coincide.
 older: Reading what was before… / Leyendo lo anterior…
 rewind: Only go back / Solo volver atrás
 steps: {n} step|{n} steps / {n} paso|{n} pasos
 thinking: thinking / razonamiento
 toEnd: To the newest ↓ / A lo más reciente ↓
cost
 none: $ ? / $ ?
 unknown: price unknown / precio desconocido
 whole: What this session has cost / Lo que ha costado esta sesión
count
 calls: call|calls / llamada|llamadas
 denials: denial|denials / denegación|denegaciones
 errors: error|errors / error|errores
 failedCalls: failed / fallidas
 files: file|files / archivo|archivos
 mail: message|messages / mensaje|mensajes
decision
 allow: allowed / permitido
 deny: denied / denegado
diff
 added: added: / añadido:
 removed: removed: / quitado:
doctor
 run: Check everything / Comprobar todo
 title: What works here / Qué funciona aquí
door
 bad: This code is not valid, or no longer. A code is good once, for a minute. / Este código no vale, o ya no. Un código sirve una vez, durante un minuto.
 code: One-time code / Código de un solo uso
 enter: Enter / Entrar
 title: This page is for whoever started it / Esta página es de quien la inició
 words: It opens with a one-time code. This gives you a fresh one: / Se abre con un código de un solo uso. Esto da uno nuevo:
error
 network: The server does not answer. Look whether “planck serve” still runs. / El servidor no responde. Mira si «planck serve» sigue en marcha.
fork
 made: is a session of its own now / es ahora una sesión propia
inbox
 adds: Adds / Añade
 asks: {agent} asks / {agent} pregunta
 call: What is to be done / Qué se va a hacer
 count: {n} question waits|{n} questions wait / {n} pregunta espera|{n} preguntas esperan
 empty: Nobody asks you anything. / Nadie te pregunta nada.
 expires: Expires / Caduca
 in: in {span} / en {span}
 late: Somebody answered this already, or it is no longer asked. / Alguien ya respondió, o ya no se pregunta.
 lost: The questions can't be read without a connection. / Sin conexión no se pueden leer las preguntas.
 more: More answers / Más respuestas
 noRule: This can only be answered for once. / Esto solo puede responderse una vez.
 nothing: nothing / nada
 of: Question of {agent} / Pregunta de {agent}
 place: “Always” is written to {place}. / «Siempre» se escribe en {place}.
 preview: what it would do / qué haría
 reason: Why not (the agent reads it) / Por qué no (el agente lo lee)
 rule: For longer than once, this would be allowed: / Por más de una vez, se permitiría:
 why: Why / Por qué
 wider: wider: / más amplio:
keys
 close: Close, or leave the input / Cerrar, o salir del campo
 compose: Write a message / Escribir un mensaje
 find: Find / Buscar
 help: This help / Esta ayuda
 pan: Pan the lanes / Desplazar los carriles
 rows: Go through agents or changes / Recorrer agentes o cambios
 stop: Stop every turn / Detener todos los turnos
 zoom: Zoom the lanes, 0 shows all / Ampliar los carriles, 0 muestra todo
lanes
 asks: asks you / te pregunta
 hint: Point at a bar to read it · ← → pan · + − zoom / Señala una barra para leerla · ← → mover · + − ampliar
 label: Lanes of the team over time / Carriles del equipo en el tiempo
 mail: Newest messages between agents / Mensajes más recientes entre agentes
 older: older / antes
 table: What each agent does / Qué hace cada agente
 tool: tool / herramienta
 waits: waits / espera
 work: model / modelo
language
 en: English / English
 es: Español / Español
live
 compacting: making room in its window… / haciendo sitio en su ventana…
look
 auto: As the system / Como el sistema
 dark: Dark / Oscuro
 keys: Single-key shortcuts / Atajos de una tecla
 language: Language / Idioma
 light: Light / Claro
 notify: Notify me of questions while this tab is hidden / Avisarme de preguntas con esta pestaña oculta
 theme: Theme / Tema
 title: This page / Esta página
mail
 ask: ask / pregunta
 prompt: prompt / encargo
 response: response / respuesta
 task: task / tarea
md
 image: picture: {alt} / imagen: {alt}
 table: Table / Tabla
mode
 ask: ask / preguntar
 full: full / total
 label: Permissions / Permisos
 plan: plan / plan
 read-only: read-only / solo lectura
 workspace: workspace / espacio de trabajo
models
 current: in use / en uso
 empty: No model can be used yet. / Aún no hay ningún modelo utilizable.
 price: {input} in, {output} out per million tokens / {input} entrada, {output} salida por millón de tokens
 test: Test / Probar
 testing: Testing… / Probando…
 title: Models / Modelos
 window: window {n} / ventana {n}
 works: answers in {time} / responde en {time}
nav
 changes: Changes / Cambios
 conversation: Conversation / Conversación
 inbox: Inbox / Bandeja
 label: Main / Principal
 session: This session / Esta sesión
 sessions: Sessions / Sesiones
 settings: Settings / Ajustes
 team: Team / Equipo
note
 checked: Checked: {status} / Comprobado: {status}
 compacted: {name}'s history was made shorter: {before} → {after} tokens / El historial de {name} se acortó: {before} → {after} tokens
 destroyed: {name} was told to end / Se pidió a {name} que terminara
 ended: {name} ended {reason} / {name} terminó {reason}
 forked: Forked from another session at event {seq} / Bifurcada de otra sesión en el evento {seq}
 halted: Everything was stopped / Se detuvo todo
 interrupted: {name} was interrupted / Se interrumpió a {name}
 mode: Permissions are “{mode}” from here on / Los permisos son «{mode}» desde aquí
 model: {name} goes on with {model} / {name} sigue con {model}
 renamed: Renamed to {name} / Ahora se llama {name}
 resumed: Opened again / Abierta de nuevo
 rewound: Everyone was taken back to event {seq} / Todos volvieron al evento {seq}
 started: {name} joined, on {model} / {name} se unió, con {model}
 told: Told to {name}: / Dicho a {name}:
replay
 at: event {seq} of {head} / evento {seq} de {head}
 back: One event back / Un evento atrás
 forward: One event on / Un evento adelante
 label: Replay / Reproducción
 live: live / en vivo
 pause: Pause / Pausa
 place: Place in the log / Lugar en el registro
 play: Play from here / Reproducir desde aquí
 shown: You see event {seq}, not what is now. / Ves el evento {seq}, no el presente.
scope
 once: once / una vez
 rule: always / siempre
 session: this session / esta sesión
search
 label: Said in sessions / Dicho en las sesiones
 none: No sentence says this. / Ninguna frase dice esto.
session
 done: done / hecha
 failed: failed / fallida
 interrupted: interrupted / interrumpida
 running: running / en marcha
 unknown: can't be read / ilegible
 waiting: asks you / te pregunta
sessions
 acts: Actions for {name} / Acciones para {name}
 delete: Delete… / Borrar…
 empty: No sessions yet. Say above what is to be done. / Aún no hay sesiones. Di arriba qué hay que hacer.
 find: Find a session, or words in one / Buscar una sesión, o palabras en ella
 forkOf: fork of {name} at event {seq} / bifurcación de {name} en el evento {seq}
 held: open / abierta
 heldWhere: Open in process {pid} on {host} / Abierta en el proceso {pid} de {host}
 new: New session / Nueva sesión
 noPrompt: nothing asked yet / sin encargo todavía
 none: No session is called this or began with it. / Ninguna sesión se llama o empezó así.
 origin: Where it was forked / Dónde se bifurcó
 reallyDelete: Delete for good / Borrar para siempre
 rename: Rename / Renombrar
set
 leave: Sign out of this browser / Cerrar sesión en este navegador
 server: Server / Servidor
 version: Version / Versión
 workspace: Workspace / Espacio de trabajo
setup
 address: Address / Dirección
 addressHint: Of a server that speaks the OpenAI dialect / De un servidor que habla el dialecto de OpenAI
 another: Another server… / Otro servidor…
 change: Set up another / Configurar otro
 default: the vendor's default / el modelo por defecto
 done: It answers, and is kept as the default model. / Responde, y queda como modelo por defecto.
 first: Set up a model / Configura un modelo
 go: Test and keep / Probar y guardar
 have: Sessions start with / Las sesiones empiezan con
 key: Key / Clave
 keyHint: Goes to a file only you can read, and is never shown again / Va a un archivo que solo tú puedes leer, y no se muestra más
 model: Model / Modelo
 name: Name / Nombre
 provider: Provider / Proveedor
 title: Default model / Modelo por defecto
 words: One small question is sent before anything is kept. / Se envía una pregunta pequeña antes de guardar nada.
start
 budget: Budget (USD) / Presupuesto (USD)
 default: default / por defecto
 example: The tests fail. Find out why, and mend it. / Las pruebas fallan. Averigua por qué y arréglalo.
 go: Start / Empezar
 noLimit: no limit / sin límite
 noModel: There is no model yet. Set one up first; it takes a minute. / Aún no hay modelo. Configura uno primero; es un minuto.
 prompt: What is to be done? / ¿Qué hay que hacer?
 starting: Starting… / Empezando…
state
 asks: asks you / te pregunta
 ended: ended / terminado
 failed: failed / falló
 failedKind: failed: {kind} / falló: {kind}
 idle: idle / en reposo
 stopping: stopping / parando
 thinking: thinking / pensando
 unread: {n} unread / {n} sin leer
 waits: waits for {name} / espera a {name}
step
 completed: done / hecho
 in_progress: at work / en curso
 pending: to do / pendiente
team
 agents: Agents / Agentes
 empty: No agent has started yet. / Ningún agente ha empezado.
 label: Team over time / El equipo en el tiempo
teams
 check: Check / Comprobar
 empty: No teams here. “planck teams new” makes one. / No hay equipos. «planck teams new» crea uno.
 ok: ready / listo
 title: Teams / Equipos
time
 ago: {span} ago / hace {span}
 now: just now / ahora mismo
turn
 capped: limit reached / límite alcanzado
 completed: completed / completado
 failed: failed / fallido
 interrupted: interrupted / interrumpido
 timed_out: out of time / sin tiempo
undo
 commands: {n} command ran here and can't be undone|{n} commands ran here and can't be undone / se ejecutó {n} orden que no se puede deshacer|se ejecutaron {n} órdenes que no se pueden deshacer
 done: {n} file is as it was. To undo that:|{n} files are as they were. To undo that: / {n} archivo está como antes. Para deshacerlo:|{n} archivos están como antes. Para deshacerlo:
 look: Preview undo / Ver qué desharía
 nothing: There is nothing to take back. / No hay nada que deshacer.
 plan: What an undo would do now / Qué haría deshacer ahora
 take: Undo {n} file|Undo {n} files / Deshacer {n} archivo|Deshacer {n} archivos
 tick: Tick what is to be taken back. / Marca lo que hay que deshacer.
why
 on: waits for / espera a
`;
